// An operand of 16-bit elements that cp.async copies to shared memory k_tile by k_tile
// (device/swizzled_tile.cuh): chunks of 16 bytes where lines of the matrix begin at multiples of 16
// bytes, and words of 4 bytes where they begin anywhere. A line that begins in the middle of a word
// is copied from there on, and shifted by one element when it has arrived.
#pragma once

#include "cp_async.cuh"
#include "swizzled_tile.cuh"
#include "sync.cuh"
#include "vector.cuh"

namespace autotune_device {

#ifdef __CUDACC__

// Starts to copy `bytes` of kBytes bytes, and to store zeros behind them. Both addresses are
// multiples of kBytes; with no bytes nothing is read.
template <int kBytes, typename T>
__device__ __forceinline__ void cp_async_some(T* to, const T* from, int bytes) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(bytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(kBytes), "r"(bytes));
  }
}
// Makes the compiler add to a pointer step by step, which takes fewer instructions than products.
template <typename T>
__device__ __forceinline__ void keep_in_registers(const T*& pointer) {
  asm volatile("" : "+l"(pointer));
}
// Returns the first word of the next lane, which `next` points to.
__device__ __forceinline__ unsigned first_word_of_next_lane(unsigned own, const unsigned*) {
  return __shfl_down_sync(0xffffffff, own, 1);
}

#else

template <int kBytes, typename T>
__device__ __forceinline__ void cp_async_some(T* to, const T* from, int bytes) {
  for (int i = 0; i < kBytes / static_cast<int>(sizeof(T)); ++i) {
    to[i] = i * static_cast<int>(sizeof(T)) < bytes ? from[i] : T{};
  }
}
template <typename T>
__device__ __forceinline__ void keep_in_registers(const T*&) {}
__device__ __forceinline__ unsigned first_word_of_next_lane(unsigned, const unsigned* next) {
  return *next;
}

#endif

// The copies of one operand's k_tiles, as kThreads threads make them. kAnywhere: lines may begin
// anywhere.
template <typename T, typename Tile, int kThreads, bool kAnywhere>
class CopiedTiles {
  static constexpr int kLines = Tile::kLines;
  static constexpr int kLength = Tile::kLength;
  static constexpr int kChunk = 8;  // elements of 16 bytes
  static constexpr int kWord = 2;
  template <int kWidth>
  static constexpr int kLineStep = kThreads* kWidth / kLength;  // lines that are copied at once
  static_assert(sizeof(T) == 2 && kThreads % Tile::kChunks == 0);
  static_assert(!kAnywhere || (kLineStep<kWord> % 2 == 0 && kLines <= kThreads),
                "a thread's lines all begin in the same part of a word");

 public:
  // Elements of a buffer: a tile, and behind it for each line the word of its last element.
  static constexpr int kSize = Tile::kSize + (kAnywhere ? kWord * kLines : 0);

  // source: the matrix, of `rows` rows, whose lines are ld elements apart. The tile begins at
  // first_row and first_k, multiples of 16.
  __device__ __forceinline__ CopiedTiles(const T* source, long long ld, long long first_row,
                                         long long rows, long long first_k)
      : ld_(ld),
        rows_left_(rows - first_row < Tile::kRows ? static_cast<int>(rows - first_row)
                                                  : Tile::kRows) {
    const auto address = reinterpret_cast<unsigned long long>(source);
    if constexpr (kAnywhere) {
      words_ = address % 16 != 0 || ld % kChunk != 0;
      first_odd_ = address % 4 != 0;
    }
    const int across = kLength / (words_ ? kWord : kChunk);  // copies of a line
    const int thread = static_cast<int>(threadIdx.x);
    line_ = thread / across;
    along_ = thread % across * (words_ ? kWord : kChunk);
    own_ = Tile::offset(line_, along_);
    const long long first_line = Tile::kKMajor ? first_row : first_k;
    const long long first_along = Tile::kKMajor ? first_k : first_row;
    next_ = source + (first_line + line_) * ld + first_along + along_;
    if constexpr (kAnywhere) {
      if (words_ && is_odd(line_)) {
        begins_before_ = next_ == source;
        --next_;
        ++along_left_;
      }
    }
    along_left_ -= along_;
  }

  // Starts to copy the next k_tile, of which k_left elements of K are there. All threads call this.
  // readable: a multiple of 16 bytes that a copy names where it stores zeros.
  __device__ __forceinline__ void copy(T* to, const T* readable, int k_left) {
    if (kAnywhere && words_) {
      copy_last_elements(to + Tile::kSize, readable, k_left);
      copy_lines<kWord>(to, readable, k_left);
    } else {
      copy_lines<kChunk>(to, readable, k_left);
    }
    next_ += Tile::kKMajor ? BLOCK_K : BLOCK_K * ld_;
  }

  // Shifts those lines of a buffer that begin in the middle of a word. All threads call this when
  // all copies to the buffer have arrived; behind the next barrier it can be read.
  __device__ __forceinline__ void shift_odd_lines(T* buffer) const {
    if (!kAnywhere || !words_) return;
    const bool alternate = ld_ % 2 != 0;
    if (!alternate && !first_odd_) return;
    const int first = alternate && !first_odd_ ? 1 : 0;
    const int step = alternate ? 2 : 1;
    const int chunks = kLines / step * Tile::kChunks;
#pragma unroll 2
    for (int i = 0; i < chunks; i += kThreads) {
      const int chunk = i + static_cast<int>(threadIdx.x);
      const bool is_there = chunk < chunks;  // the same for all lanes of a warp
      const int line = is_there ? first + chunk / Tile::kChunks * step : 0;
      const int element = chunk % Tile::kChunks * kChunk;
      const bool is_last = element == kLength - kChunk;
      T* const at = buffer + Tile::offset(line, element);
      const T* const behind = is_last ? buffer + Tile::kSize + kWord * line
                                      : buffer + Tile::offset(line, element + kChunk);
      const auto* const word_behind = reinterpret_cast<const unsigned*>(behind);
      Vector<unsigned, 4> old = {};
      if (is_there) old = load_vector<4>(reinterpret_cast<const unsigned*>(at));
      unsigned next = first_word_of_next_lane(old.at[0], word_behind);
      if (is_last) next = *word_behind;
      Vector<unsigned, 4> shifted;
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        shifted.at[word] = old.at[word] >> 16 | (word < 3 ? old.at[(word + 1) % 4] : next) << 16;
      }
      sync_warp();  // all lanes have loaded
      if (is_there) store_vector<4>(reinterpret_cast<unsigned*>(at), shifted);
    }
  }

 private:
  // Returns whether a line begins in the middle of a word.
  __device__ __forceinline__ bool is_odd(int line) const {
    return first_odd_ != (line % 2 != 0 && ld_ % 2 != 0);
  }
  __device__ __forceinline__ int lines_left(int k_left) const {
    return Tile::kKMajor ? rows_left_ : k_left;
  }
  // Returns the elements that the matrix has from this thread's first one on.
  __device__ __forceinline__ int along_left(int k_left) const {
    return (Tile::kKMajor ? k_left : rows_left_) + along_left_;
  }
  static __device__ __forceinline__ int bytes_of(int elements, int most) {
    return 2 * (elements < 0 ? 0 : elements < most ? elements : most);
  }

  // What may end within a tile, beside rows along K: nothing, the rows of a line, or K.
  enum class Edge { none, rows, k };

  // Copies kWidth elements at a time.
  template <int kWidth>
  __device__ __forceinline__ void copy_lines(T* to, const T* readable, int k_left) {
    if (k_left < BLOCK_K) {
      copy_lines<kWidth, Edge::k>(to, readable, k_left);
    } else if (!Tile::kKMajor && rows_left_ < Tile::kRows) {
      copy_lines<kWidth, Edge::rows>(to, readable, k_left);
    } else {
      copy_lines<kWidth, Edge::none>(to, readable, k_left);
    }
    if (kWidth == kWord) begins_before_ = false;
  }

  // Stores zeros for elements beyond K, and nothing or anything for rows that the matrix does not
  // have, since their results are not stored.
  template <int kWidth, Edge kEdge>
  __device__ __forceinline__ void copy_lines(T* to, const T* readable, int k_left) const {
    constexpr int kStep = kLineStep<kWidth>;
    constexpr int kUnroll = kEdge == Edge::k ? 1 : (kLines - 1) / kStep + 1;
    constexpr bool kAllThere = !Tile::kKMajor && kEdge != Edge::k && kLines % kStep == 0;
    const int bytes = bytes_of(along_left(k_left), kWidth);
    if (kEdge == Edge::rows && bytes == 0) return;
    const int lines = (kEdge == Edge::k || Tile::kKMajor ? lines_left(k_left) : kLines) - line_;
    const T* from = next_;
    long long step = kStep * ld_;
    if (kEdge == Edge::k && bytes == 0) {
      from = readable;
      step = 0;
    }
#pragma unroll kUnroll
    for (int i = 0; i < kLines; i += kStep) {
      T* const own = to + Tile::offset_behind(own_, i);
      if (kWidth == kWord && i == 0 && begins_before_) {
        // The first element of the matrix, in front of which there may be nothing.
        own[0] = T{};
        own[1] = from[1];
      } else if (kAllThere || i < lines) {
        if constexpr (kEdge == Edge::none) {
          cp_async<kWidth>(own, from);
        } else {
          cp_async_some<2 * kWidth>(own, from, bytes);
        }
      } else if (!Tile::kKMajor && kEdge == Edge::k && i + line_ < kLines) {
        cp_async_some<2 * kWidth>(own, readable, 0);
      }
      from += step;
      keep_in_registers(from);
    }
  }

  // Copies the last elements of lines that begin in the middle of a word, each by the thread that
  // has the line's number.
  __device__ __forceinline__ void copy_last_elements(T* to, const T* readable, int k_left) const {
    const int line = static_cast<int>(threadIdx.x);
    if (line >= kLines || !is_odd(line)) return;
    const bool is_there =
        line < lines_left(k_left) && kLength <= (Tile::kKMajor ? k_left : rows_left_);
    const T* const last = next_ + (line - line_) * ld_ + (kLength - 1 + along_left_);
    cp_async_some<4>(to + kWord * line, is_there ? last : readable, is_there ? 2 : 0);
  }

  const T* next_;  // this thread's first element of the next k_tile
  long long ld_;
  int rows_left_;  // of the matrix, from the tile's first row on
  int line_, along_, own_;
  int along_left_ = 0;          // less than what is left of the matrix along a line
  bool words_ = false;          // copies are of words
  bool first_odd_ = false;      // the matrix begins in the middle of a word
  bool begins_before_ = false;  // next_ is in front of the matrix
};

}  // namespace autotune_device
