// The products of gemm_skinny for elements of 16 bits. A batch is runs of some elements of K of each
// of a lane's rows. The few rows are read from the L1 cache where they are K-major in memory, in which
// case the warps of a block never wait for each other; otherwise from shared memory, in which they
// are K-major.
#pragma once

#include "grid_dependency.cuh"
#include "halves.cuh"
#include "skinny_tile.cuh"

namespace autotune_device {

template <typename Few, typename Many>
struct Products<Few, Many, 2> {
  static constexpr int kRun = kKMajor ? 8 : 4;
  static constexpr int kRuns = UNROLL * 4 / static_cast<int>(sizeof(Many)) / kRun;
  // A lane loads vectors of kVector elements: a run of each row, or its rows at each k of a run.
  static constexpr int kVector = kKMajor ? kRun : LINES;
  static constexpr int kVectors = kKMajor ? LINES : kRun;
  // Elements of K of the few rows that shared memory holds, and of one row with what follows it, so
  // that neighbouring rows are in other banks.
  static constexpr int kChunk = kStep * (FEW * kStep < 8192 ? 8192 / (FEW * kStep) : 1);
  static constexpr int kPitch = kChunk + 8;
  static constexpr int kSharedWords = kFewKMajor ? 0 : FEW * kPitch / kInWord;
  // The bits of -0, which stands for elements of the few rows that do not exist: it meets +0, and
  // their product, -0, is the one number that changes no sum.
  static constexpr unsigned kNoneOfFew = 0x8000;

  // The elements of a lane's rows in one run.
  struct Lines {
    Halves<kVector> at[kVectors];

    __device__ __forceinline__ float value(int row, int k) const {
      const int vector = kKMajor ? row : k;
      const int e = kKMajor ? k : row;
      return value_of_half<Many>(at[vector].at[e / 2], e % 2);
    }
  };
  // The same of the few rows.
  struct FewLines {
    Halves<kRun> at[FEW];
  };

  // Returns the distance of this lane's first k of a run from the first k of the batch.
  static __device__ __forceinline__ int run_offset(int run) {
    const int lane_k = static_cast<int>(threadIdx.x % 32) / kAcross;
    return kRun * (kKMajor ? run * LANES_K + lane_k : lane_k * kRuns + run);
  }

  // Returns the vector of a lane's rows that begins at the k; a row that does not exist is the last
  // one again.
  static __device__ __forceinline__ const Many* vector(const Rows<Many>& many, unsigned k, int i) {
    const long long at_k = k;
    return many.at + (kKMajor ? minimum(row_offset(i), many.left - 1) * many.leading + at_k
                              : (at_k + i) * many.leading);
  }
  static __device__ __forceinline__ const Few* vector_of_few(const Rows<Few>& few, unsigned k,
                                                             int f) {
    return few.at + minimum(f, few.left - 1) * few.leading + k;
  }

  static __device__ __forceinline__ void multiply(const Lines& lines, const FewLines& few,
                                                  Sums& sums) {
#pragma unroll
    for (int k = 0; k < kRun; ++k) {
#pragma unroll
      for (int f = 0; f < FEW; ++f) {
        const float factor = value_of_half<Few>(few.at[f].at[k / 2], k % 2);
#pragma unroll
        for (int row = 0; row < LINES; ++row) {
          sums[f][row] = multiply_add(factor, lines.value(row, k), sums[f][row]);
        }
      }
    }
  }

  // Loads a run of the few rows from shared memory, given from where its batch begins.
  static __device__ __forceinline__ FewLines load_shared(const unsigned* batch, int run) {
    FewLines lines;
#pragma unroll
    for (int f = 0; f < FEW; ++f) {
      lines.at[f] = load_vector<kRun / kInWord>(batch + (f * kPitch + run_offset(run)) / kInWord);
    }
    return lines;
  }

  // Aligned rows, of which whole batches are loaded into registers. A run's registers are loaded
  // again as soon as it is multiplied, so that loads are under way all the time.
  class Stream {
   public:
    bool has_batch;  // loaded, or to be loaded by begin()

    // k: of the first batch.
    __device__ __forceinline__ Stream(const Rows<Few>& few, const Rows<Many>& many, unsigned k,
                                      unsigned end)
        : has_batch(many.exist && many.aligned && (kKMajor || many.left >= LINES) &&
                    (!kFewKMajor || few.aligned) && k + kBatch <= end),
          leading(many.leading) {
#pragma unroll
      for (int i = 0; i < kPointers; ++i) from[i] = vector(many, k + run_offset(0), i);
#pragma unroll
      for (int f = 0; f < kFewPointers; ++f) {
        from_few[f] = vector_of_few(few, k + run_offset(0), f);
      }
    }

    // Returns a positive number that depends on all addresses, for griddep_wait().
    __device__ __forceinline__ int positive() const {
      unsigned long long bits = 0;
#pragma unroll
      for (const Many* each : from) bits |= reinterpret_cast<unsigned long long>(each);
#pragma unroll
      for (const Few* each : from_few) bits |= reinterpret_cast<unsigned long long>(each);
      return static_cast<int>((static_cast<unsigned>(bits | bits >> 32) | 1) & 0x7fffffff);
    }

    __device__ __forceinline__ void begin() {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) load(run);
    }

    // Adds the products of the batch, and loads the next one, which is at k.
    __device__ __forceinline__ void add(unsigned k, unsigned end, const unsigned* shared,
                                        Sums& sums) {
      has_batch = k + kBatch <= end;
#pragma unroll
      for (const Many*& next : from) next += kKMajor ? kStep : kStep * leading;
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        FewLines of_few;
        if (kFewKMajor) {
#pragma unroll
          for (int f = 0; f < FEW; ++f) {
            of_few.at[f] = load_halves<kRun>(from_few[kFewKMajor ? f : 0] + ahead(run));
          }
        } else {
          of_few = load_shared(shared, run);
        }
        multiply(lines[run], of_few, sums);
        load(run);
      }
#pragma unroll
      for (const Few*& current : from_few) current += kStep;
    }

   private:
    static constexpr int kPointers = kKMajor ? LINES : 1;
    static constexpr int kFewPointers = kFewKMajor ? FEW : 1;

    long long leading;
    const Many* from[kPointers];        // of the batch that is loaded next
    const Few* from_few[kFewPointers];  // of the batch that is multiplied next
    Lines lines[kRuns];

    static __device__ __forceinline__ int ahead(int run) {
      return run_offset(run) - run_offset(0);
    }

    __device__ __forceinline__ void load(int run) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const Many* const at =
            kKMajor ? from[kKMajor ? i : 0] + ahead(run) : from[0] + (ahead(run) + i) * leading;
        load_halves_once<kVector>(has_batch, at, lines[run].at[i]);
      }
    }
  };

  // The runs that vectors cover which are parts of the operands: those that begin at these k. Only
  // runs at the beginning and the end of an operand are not among them.
  struct Covered {
    int first, last;

    // Elements that vectors reach from the first one of a run on, at most, and in front of it.
    static constexpr int kReach = 16, kReachInFront = 8;

    __device__ __forceinline__ Covered(const Rows<Few>& few, const Rows<Many>& many)
        : first(many.begin_inside_vector ? kReachInFront : 0),
          last(kKMajor ? last_k(many, row_offset(LINES - 1))
                       : many.k - kRun - (many.leading < kReach ? kReach : 1)) {
      if (!kFewKMajor) return;
      if (few.begin_inside_vector) first = kReachInFront;
      last = minimum(last, last_k(few, FEW - 1));
    }
    // A vector may reach into the next row. last_row: the number of the last one of this lane.
    template <typename T>
    static __device__ __forceinline__ int last_k(const Rows<T>& rows, int last_row) {
      const bool has_next = rows.left - 1 > last_row && rows.leading >= kReach;
      return has_next ? rows.k : rows.k - kReach;
    }
    __device__ __forceinline__ bool has(unsigned k) const {
      return static_cast<int>(k) >= first && static_cast<int>(k) <= last;
    }
  };

  // Adds the products of `count` elements of K of a lane's rows, from its run's first k on, which
  // may begin at any address but are covered.
  static __device__ __forceinline__ void add_covered(const Rows<Few>& few, const Rows<Many>& many,
                                                     unsigned k, int count, int run,
                                                     const unsigned* shared, Sums& sums) {
    Cover<kVector> covers[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) covers[i].load(vector(many, k, i));
    FewLines of_few;
    if (kFewKMajor) {
#pragma unroll
      for (int f = 0; f < FEW; ++f) {
        Cover<kRun> cover;
        cover.load(vector_of_few(few, k, f));
        of_few.at[f] = cover.elements();
      }
    } else {
      of_few = load_shared(shared, run);
    }
    Lines lines;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) lines.at[i] = covers[i].elements();
    if (count < kRun) keep(count, lines, of_few);
    multiply(lines, of_few, sums);
  }

  // Replaces the elements of K from `count` on.
  static __device__ __forceinline__ void keep(int count, Lines& lines, FewLines& few) {
#pragma unroll
    for (int i = 0; i < kRun / kInWord; ++i) {
      const int left = count - i * kInWord;
      const unsigned kept = left <= 0 ? 0 : left < kInWord ? 0xffff : 0xffffffff;
#pragma unroll
      for (int f = 0; f < FEW; ++f) {
        few.at[f].at[i] = (few.at[f].at[i] & kept) | (kNoneOfFew * 0x10001 & ~kept);
      }
#pragma unroll
      for (int row = 0; kKMajor && row < LINES; ++row) lines.at[row].at[i] &= kept;
    }
#pragma unroll
    for (int i = 0; !kKMajor && i < kRun; ++i) {
#pragma unroll
      for (unsigned& word : lines.at[i].at) word = i < count ? word : 0;
    }
  }

  // Adds the products of `count` elements of K one by one.
  static __device__ __forceinline__ void add_elements(const Rows<Few>& few, const Rows<Many>& many,
                                                      unsigned k, int count, int run,
                                                      const unsigned* shared, Sums& sums) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const long long at_k = k + i;
      float values[LINES];
#pragma unroll
      for (int row = 0; row < LINES; ++row) {
        const int existing = minimum(row_offset(row), many.left - 1);
        const long long offset =
            kKMajor ? existing * many.leading + at_k : at_k * many.leading + existing;
        values[row] = value_of_half<Many>(load_halves<1>(many.at + offset).at[0], 0);
      }
#pragma unroll
      for (int f = 0; f < FEW; ++f) {
        unsigned half;
        if (kFewKMajor) {
          half = load_halves<1>(vector_of_few(few, k + i, f)).at[0];
        } else {
          const int at = f * kPitch + run_offset(run) + i;
          half = shared[at / kInWord] >> 16 * (at % kInWord);
        }
#pragma unroll
        for (int row = 0; row < LINES; ++row) {
          sums[f][row] = multiply_add(value_of_half<Few>(half, 0), values[row], sums[f][row]);
        }
      }
    }
  }

  // Adds the products of any batch, before `end`.
  static __device__ __forceinline__ void add_batch(const Rows<Few>& few, const Rows<Many>& many,
                                                   const Covered& covered, unsigned k, unsigned end,
                                                   const unsigned* shared, Sums& sums) {
#pragma unroll 1
    for (int run = 0; run < kRuns; ++run) {
      const unsigned first = k + run_offset(run);
      if (first >= end) continue;
      const int count = minimum(static_cast<int>(end - first), kRun);
      if (covered.has(first)) {
        add_covered(few, many, first, count, run, shared, sums);
      } else {
        add_elements(few, many, first, count, run, shared, sums);
      }
    }
  }

  // Copies `count` elements of K of the few rows to shared memory, from k on, and fills the last
  // step. All threads of the block call this.
  static __device__ __forceinline__ void copy_few(const Rows<Few>& few, unsigned k, int count,
                                                  unsigned* shared) {
    const int words = ((count - 1) / kStep + 1) * kStep / kInWord;  // of a row
#pragma unroll 4
    for (int e = threadIdx.x; e < FEW * words; e += kThreads) {
      const int f = e % FEW;
      const int in_row = e / FEW;
      const Few* const from = few.at + (k + in_row * kInWord) * few.leading + f;
      unsigned halves[kInWord];
#pragma unroll
      for (int i = 0; i < kInWord; ++i) {
        const bool exists = f < few.left && in_row * kInWord + i < count;
        halves[i] = exists ? load_halves<1>(from + i * few.leading).at[0] : kNoneOfFew;
      }
      shared[f * kPitch / kInWord + in_row] = halves[0] | halves[1] << 16;
    }
  }

  // Waits for the launch before and adds the products of the elements [k_begin, k_end) of K to the
  // sums. All threads of the block call this.
  static __device__ __forceinline__ void accumulate(const Rows<Few>& few, const Rows<Many>& many,
                                                    long long k_begin, long long k_end,
                                                    Accumulator* shared, Sums& sums) {
    unsigned* const words = reinterpret_cast<unsigned*>(shared);
    const unsigned end = static_cast<unsigned>(k_end);
    const unsigned own = threadIdx.x / (32 * WARPS) * kBatch;  // of a step
    unsigned k = static_cast<unsigned>(k_begin) + own;
    Stream stream(few, many, k, end);
    const Covered covered(few, many);
    griddep_wait(stream.positive());
    stream.begin();
    for (unsigned chunk = static_cast<unsigned>(k_begin); chunk < end; chunk += kChunk) {
      const unsigned chunk_end = kFewKMajor || end - chunk < kChunk ? end : chunk + kChunk;
      if (!kFewKMajor) {
        if (chunk > k_begin) __syncthreads();  // all threads have read the previous chunk
        copy_few(few, chunk, static_cast<int>(chunk_end - chunk), words);
        __syncthreads();
      }
      const unsigned* at = words + own / kInWord;
#pragma unroll 1
      for (; stream.has_batch && k < chunk_end; at += kStep / kInWord) {
        k += kStep;
        stream.add(k, end, at, sums);
      }
#pragma unroll 1
      for (; many.exist && k < chunk_end; k += kStep, at += kStep / kInWord) {
        add_batch(few, many, covered, k, end, at, sums);
      }
      if (kFewKMajor) return;
    }
    __syncthreads();
  }
};

}  // namespace autotune_device
