/* Tuned matrix multiplication for C, and for languages that call C. autotune.hpp is the same for
 * C++, and says what is left out here; docs/embedding.md says more.
 *
 *     autotune_problem problem = {.size = sizeof problem, .m = 512, .n = 512, .k = 512};
 *     autotune_gemm_call call = {.size = sizeof call, .problem = &problem, .alpha = 1,
 *                                .a.data = a, .b.data = b, .c.data = c, .stream = stream};
 *     autotune_library *library = NULL;
 *     if (autotune_open(NULL, &library) != AUTOTUNE_OK ||
 *         autotune_gemm(library, &call) != AUTOTUNE_OK) {
 *       fprintf(stderr, "%s\n", autotune_last_error());
 *     }
 *     autotune_close(library);
 *
 * - Structures with a member `size` begin with it: the caller sets it to sizeof the structure. Later
 *   versions add members behind those of today, which are then 0 for older callers; results lack
 *   what the caller's structure has no room for. A structure that is all 0 but for its size has the
 *   defaults. A newer structure is accepted by an older library if what it does not know is 0.
 * - Every function that can fail returns a status. No exception leaves the library, and no
 *   output is written on failure. The text of a thread's last failure is autotune_last_error().
 * - All functions may be called by several threads at once, but for those that end the use of an
 *   object. They work in the thread's current CUDA context.
 * - Enumerators never change their values. They are passed as int32_t.
 */
#ifndef AUTOTUNE_AUTOTUNE_H
#define AUTOTUNE_AUTOTUNE_H

#include <stddef.h>
#include <stdint.h>

#if defined(AUTOTUNE_SHARED) && defined(__GNUC__)
#define AUTOTUNE_C_API __attribute__((visibility("default")))
#else
#define AUTOTUNE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct autotune_library autotune_library;
typedef struct autotune_plan autotune_plan;
typedef struct autotune_prepared autotune_prepared;
typedef struct autotune_kernel autotune_kernel;
typedef struct CUstream_st *autotune_stream; /* a cudaStream_t or CUstream */

typedef int32_t autotune_status;
enum {
  AUTOTUNE_OK = 0,
  AUTOTUNE_USAGE = 1,       /* the call is wrong */
  AUTOTUNE_ENVIRONMENT = 2, /* something outside is absent or unfit: device, compiler, memory */
  AUTOTUNE_STORAGE = 3,     /* the database cannot be used */
  AUTOTUNE_NOT_TUNED = 4,   /* a product that was not tuned is refused */
  AUTOTUNE_NO_MEMORY = 5,   /* the device or the process has no memory left */
  AUTOTUNE_DEVICE = 6,      /* any other fault that the driver reports */
  AUTOTUNE_INTERNAL = 7,    /* a fault of this library */
  AUTOTUNE_NOT_READY = 8,   /* autotune_try_gemm(): another call has to come first */
  AUTOTUNE_REFUSED = 9      /* autotune_try_gemm(): autotune_gemm() fails, and says why */
};

/* 10000 * major + 100 * minor + patch of the library that is loaded. */
AUTOTUNE_C_API uint32_t autotune_version(void);
/* Why the thread's last call failed, in one line; "" when none has. Valid until its next failure. */
AUTOTUNE_C_API const char *autotune_last_error(void);
/* The CUresult of the driver's call that made the thread's last call fail; 0 if it was none. */
AUTOTUNE_C_API int32_t autotune_last_cuda_result(void);

enum { AUTOTUNE_DEVICE_CURRENT = 0, AUTOTUNE_DEVICE_CPU = 1, AUTOTUNE_DEVICE_GPU = 2 };
enum {
  AUTOTUNE_MISS_PREDICT = 0,
  AUTOTUNE_MISS_TUNE = 1,
  AUTOTUNE_MISS_REFUSE = 2,
  AUTOTUNE_MISS_BACKGROUND = 3 /* processes of worker_program tune what is called */
};
enum { AUTOTUNE_LOG_INFO = 0, AUTOTUNE_LOG_WARNING = 1 };

typedef struct {
  size_t size;
  int32_t device;             /* AUTOTUNE_DEVICE_... */
  int32_t gpu;                /* its ordinal, for AUTOTUNE_DEVICE_GPU; else 0 */
  const char *database;       /* path; NULL: the user's */
  const char *worker_program; /* path; NULL: candidates run in this process */
  int32_t no_shipped_winners; /* 1: those that ship with the library are left out */
  int32_t miss;               /* AUTOTUNE_MISS_... */
  double miss_budget_seconds; /* 0: 10 s */
  void (*log)(void *user, int32_t level, const char *line); /* NULL: none; called by any thread */
  void *user;                                               /* for log */
  const char *bundle; /* path of a file of `autotune export --bundle`; NULL: none */
  double background_share; /* of the device's time, for AUTOTUNE_MISS_BACKGROUND; 0: 0.05 */
  int64_t max_workspace_bytes; /* kept for each stream; 0: any number; -1: none */
  /* Memory for streams and prepared operands, in place of the driver's: both or neither. An address
   * is a multiple of 256 bytes; NULL: there is no memory. They are called in the context that it is
   * for, by any thread, and call nothing of this library. */
  void *(*allocate)(void *user, size_t bytes, autotune_stream stream);
  void (*release)(void *user, void *address, autotune_stream stream); /* stream: as in allocate */
  void *allocator_user;                                               /* for both */
} autotune_options;

/* Opens a library object. options: NULL for the defaults. */
AUTOTUNE_C_API autotune_status autotune_open(const autotune_options *options,
                                             autotune_library **library);
/* Ends its use. NULL does nothing. Its plans stay good. */
AUTOTUNE_C_API void autotune_close(autotune_library *library);
/* Ends what AUTOTUNE_MISS_BACKGROUND does; autotune_close() does so too. */
AUTOTUNE_C_API autotune_status autotune_stop_background(autotune_library *library);

enum { AUTOTUNE_NONE = 0, AUTOTUNE_TRANSPOSED = 1 };
enum { AUTOTUNE_STRICT = 0, AUTOTUNE_EMULATED = 1, AUTOTUNE_TF32 = 2 };
enum { AUTOTUNE_ROW_MAJOR = 0, AUTOTUNE_COLUMN_MAJOR = 1 };
enum {
  AUTOTUNE_F32 = 0,
  AUTOTUNE_F64 = 1,
  AUTOTUNE_BF16 = 2,
  AUTOTUNE_F16 = 3,
  AUTOTUNE_I32 = 4, /* with or without a sign */
  AUTOTUNE_I8 = 5,
  AUTOTUNE_U8 = 6,
  AUTOTUNE_I16 = 7,
  AUTOTUNE_U16 = 8,
  AUTOTUNE_I64 = 9,
  AUTOTUNE_U64 = 10
};

/* C = alpha * op(A) * op(B) + beta * C: op(A) m x k, op(B) k x n, C m x n; for one product or for
 * each of a batch. 0 <= m, n, k, batch <= 2147483647. A and B are both FP32, both BF16 or both FP16,
 * C is as they are or FP32, and sums are FP32. */
typedef struct {
  size_t size;
  int64_t m, n, k;
  int32_t op_a, op_b; /* AUTOTUNE_NONE or AUTOTUNE_TRANSPOSED */
  int32_t math;       /* AUTOTUNE_STRICT, _EMULATED or _TF32 */
  int32_t order;      /* AUTOTUNE_ROW_MAJOR or AUTOTUNE_COLUMN_MAJOR */
  int64_t batch;      /* products; 0: 1 */
  int32_t type_a, type_b, type_c, type_sums; /* of matrices and sums: AUTOTUNE_F32, ... */
} autotune_problem;

enum {
  AUTOTUNE_EXACT = 0,
  AUTOTUNE_EXACT_STALE = 1,
  AUTOTUNE_NEAREST_SIZE = 2,
  AUTOTUNE_PREDICTED = 3
};

/* A matrix, or the matrices of a batch: A or B. */
typedef struct {
  const void *data; /* an address of the device, of host memory on the CPU device */
  int64_t ld;       /* elements from one row (column-major: column) to the next; 0: the least */
  int64_t stride;   /* elements from one product's matrix to the next one's; 0: all have the same */
  const autotune_prepared *prepared; /* of this matrix, or NULL */
  int32_t type;                      /* as the problem has it: AUTOTUNE_F32, ... */
  int32_t reserved;                  /* 0 */
} autotune_matrix;
/* C, or the matrices of a batch, which must not overlap. */
typedef struct {
  void *data;
  int64_t ld, stride;
  int32_t type;
  int32_t reserved;
} autotune_mutable_matrix;

/* The arguments of a product. alpha is 0 too where it is not set. */
typedef struct {
  size_t size;
  const autotune_problem *problem; /* for autotune_plan_run(): NULL, or the plan's */
  float alpha, beta;
  autotune_matrix a, b;
  autotune_mutable_matrix c;
  autotune_stream stream;
  void *workspace; /* the caller's memory, as autotune_plan_workspace_bytes() has it; or NULL */
  size_t workspace_bytes;
  int32_t *match; /* where the kind of the match goes, or NULL */
  /* Addresses of alpha and beta in the device's memory, both or neither, in place of the values
   * above: they are read when the product runs, and are no elements of its result. */
  const float *alpha_ptr, *beta_ptr;
  /* Where its data is not NULL, the result goes here: D = alpha * op(A) * op(B) + beta * C. C is
   * copied to it first where beta may be other than 0. It is C itself, or overlaps none. */
  autotune_mutable_matrix d;
  int32_t workspace_not_zeroed; /* 1: its first 262144 bytes are set to 0 before the product */
  int32_t reserved;             /* 0 */
} autotune_gemm_call;

/* Multiplies. Without a workspace of the caller's it keeps memory for each stream, where kernels
 * need it; with one that is too small another kernel is taken. */
AUTOTUNE_C_API autotune_status autotune_gemm(autotune_library *library,
                                             const autotune_gemm_call *call);
/* Multiplies where that needs nothing that is not here: it never compiles, allocates, reads or
 * writes files, or waits for a call that does. Else AUTOTUNE_NOT_READY: autotune_gemm(), or
 * autotune_prepare() on this stream, has to come first; AUTOTUNE_REFUSED: the product's arguments
 * are wrong, autotune_gemm() has refused it of late, or the device reports a fault; or
 * AUTOTUNE_USAGE: a pointer or a structure is wrong. It leaves *match as it is. */
AUTOTUNE_C_API autotune_status autotune_try_gemm(autotune_library *library,
                                                 const autotune_gemm_call *call);
/* Does a first call's work on that stream without the product. */
AUTOTUNE_C_API autotune_status autotune_prepare(autotune_library *library,
                                                const autotune_problem *problem,
                                                autotune_stream stream);
/* Frees the memory that autotune_gemm() allocated for a stream, before that is destroyed. */
AUTOTUNE_C_API autotune_status autotune_release(autotune_library *library, autotune_stream stream);
/* The same for all streams of the current context, that with the most memory first, until no more
 * than keep_bytes are left. The work and the graphs of all of them must be done with. */
AUTOTUNE_C_API autotune_status autotune_trim(autotune_library *library, size_t keep_bytes);

/* What is known of a plan's calls: all addresses, all lds, given or not, and all strides of a batch
 * are multiples of 16 bytes; alpha and beta are in the device's memory. */
enum { AUTOTUNE_ALIGNED = 1, AUTOTUNE_SCALARS_IN_MEMORY = 2 };
/* Chooses and loads a kernel. flags: the sum of those above that hold, or 0. */
AUTOTUNE_C_API autotune_status autotune_plan_create(autotune_library *library,
                                                    const autotune_problem *problem,
                                                    int32_t flags, autotune_plan **plan);
/* Ends its use. NULL does nothing. */
AUTOTUNE_C_API void autotune_plan_destroy(autotune_plan *plan);
/* Bytes of memory that a call needs, at a multiple of 256 bytes, the first 262144 of them 0 before
 * the first call, or before none (workspace_not_zeroed). 0 for most plans. */
AUTOTUNE_C_API autotune_status autotune_plan_workspace_bytes(const autotune_plan *plan,
                                                             size_t *bytes);
/* Multiplies, without a lock, an allocation or a file. workspace: where none is needed, NULL. */
AUTOTUNE_C_API autotune_status autotune_plan_run(const autotune_plan *plan,
                                                 const autotune_gemm_call *call);

/* Prepares an operand that does not change, on a stream, for the kernel that the problem has now:
 * products that get the same kernel and this matrix, behind this work, need not prepare it again.
 * The matrix must stay as it is and where it is. which: AUTOTUNE_OPERAND_A or _B. Where the kernel
 * prepares nothing, it does nothing. */
enum { AUTOTUNE_OPERAND_A = 0, AUTOTUNE_OPERAND_B = 1 };
AUTOTUNE_C_API autotune_status autotune_prepare_operand(autotune_library *library,
                                                        const autotune_problem *problem,
                                                        int32_t which,
                                                        const autotune_matrix *matrix,
                                                        autotune_stream stream,
                                                        autotune_prepared **prepared);
/* Frees its memory, when the work that uses it is done with. NULL does nothing. */
AUTOTUNE_C_API void autotune_prepared_destroy(autotune_prepared *prepared);
/* The configuration that a product runs with. Texts are cut where they are too long. */
typedef struct {
  size_t size;
  int32_t match;                    /* AUTOTUNE_EXACT, ... */
  int32_t tuned_math;               /* as tuned_m: AUTOTUNE_STRICT, ... */
  int64_t tuned_m, tuned_n, tuned_k; /* another problem's for AUTOTUNE_NEAREST_SIZE; row-major */
  double median_us;                 /* of one launch, as measured for these; 0: not measured */
  char kernel[64];
  char configuration[512]; /* "RESULTS_M=8,RESULTS_N=16,..." */
  char explanation[256];
  int64_t tuned_batch; /* as tuned_m */
  /* What cuBLAS took for that problem, timed in turn with this kernel: "cublas 13.1.0", its
   * microseconds, and how many times as long it took, with a 95 % interval. "" and 0: not timed. */
  char baseline[64];
  double baseline_us, speedup, speedup_low, speedup_high;
} autotune_choice;

/* The configuration that would be taken now. choice->size must be set. */
AUTOTUNE_C_API autotune_status autotune_query(autotune_library *library,
                                              const autotune_problem *problem,
                                              autotune_choice *choice);
/* The fastest that is known for this very problem, in its math or a stricter one, and has at most
 * this relative error, as autotune_tune_options has it. AUTOTUNE_NOT_TUNED where nothing is. */
AUTOTUNE_C_API autotune_status autotune_query_within(autotune_library *library,
                                                     const autotune_problem *problem,
                                                     double max_error, autotune_choice *choice);
AUTOTUNE_C_API autotune_status autotune_plan_query(const autotune_plan *plan,
                                                   autotune_choice *choice);
/* The device's name as results are kept under, cut to `size` bytes with its final 0. */
AUTOTUNE_C_API autotune_status autotune_device_name(autotune_library *library, char *name,
                                                    size_t size);

typedef struct {
  size_t size;
  double budget_seconds; /* for all problems together; 0: none */
  int64_t budget_trials; /* 0: none; without a budget a search ends by itself, in 30 s or with its
                            space */
  const char *strategy;  /* NULL: the library chooses */
  uint64_t seed;         /* 0: 1 */
  int32_t fresh;         /* 1: measure again what is known */
  int32_t reserved;      /* 0 */
  /* Called by the thread that tunes; returns 0 to end the search. best_us: of the first problem, 0
   * while nothing is known. */
  int32_t (*progress)(void *user, int64_t done, int64_t total, double elapsed_seconds,
                      double best_us);
  void *user;       /* for progress */
  double max_error; /* a winner's greatest relative error, above 0 and below 1; 0: any */
} autotune_tune_options;

typedef struct {
  size_t size;
  int64_t measured; /* trials made by this call */
  int64_t known;    /* trials taken from the database */
  int64_t tuned;    /* problems that have a winner now */
  int32_t complete; /* 1: not stopped, so the same call again measures nothing */
  int32_t stored;   /* 0: results could not be stored, and live as long as the library object */
} autotune_tune_result;

/* Searches for the fastest configurations of `count` problems, which lie behind each other, all of
 * the first one's size. options: NULL for the defaults. result: NULL, or a structure whose size is
 * set. */
AUTOTUNE_C_API autotune_status autotune_tune(autotune_library *library,
                                             const autotune_problem *problems, size_t count,
                                             const autotune_tune_options *options,
                                             autotune_tune_result *result);

/* A kernel of the application's own, which pragmas in a .cu file describe (docs/own-kernels.md). */
typedef struct {
  size_t size;
  const char *file;
  const char *name; /* of one of several kernels of the file; NULL: the only one */
  const char *text; /* the file's content, where it is in memory; NULL: the file is read */
  const char *const *template_arguments; /* in the order of the template's parameters */
  size_t template_argument_count;
  const char *const *include_folders; /* searched after the file's own */
  size_t include_folder_count;
} autotune_kernel_source;
/* Reads the file. The kernel keeps the inside of its library object alive. */
AUTOTUNE_C_API autotune_status autotune_kernel_open(autotune_library *library,
                                                    const autotune_kernel_source *source,
                                                    autotune_kernel **kernel);
/* Ends its use, when the work that it enqueued is done with. NULL does nothing. */
AUTOTUNE_C_API void autotune_kernel_close(autotune_kernel *kernel);

typedef struct {
  const char *name;
  int64_t value; /* from 1 to 2147483647 */
} autotune_kernel_size;
/* Searches for the fastest configuration for these sizes, as autotune_tune() does. The max_error of
 * options is 0. */
AUTOTUNE_C_API autotune_status autotune_kernel_tune(autotune_kernel *kernel,
                                                    const autotune_kernel_size *sizes, size_t count,
                                                    const autotune_tune_options *options,
                                                    autotune_tune_result *result);
/* The configuration that a launch would get now. It leaves tuned_m and the like 0. AUTOTUNE_USAGE
 * where there is no room for all of the configuration. */
AUTOTUNE_C_API autotune_status autotune_kernel_query(autotune_kernel *kernel,
                                                     const autotune_kernel_size *sizes,
                                                     size_t count, autotune_choice *choice);

enum { AUTOTUNE_ADDRESS = 0, AUTOTUNE_WHOLE = 1, AUTOTUNE_REAL = 2 };
typedef struct {
  size_t size;
  int32_t kind;       /* AUTOTUNE_ADDRESS, ... */
  int32_t type;       /* of a buffer's elements: AUTOTUNE_F32, ... */
  int64_t elements;   /* that a buffer has at least; those of float4 count one by one */
  int32_t is_written; /* 1: the kernel writes to the buffer */
  int32_t is_size;    /* 1: a whole number that is the size of this name */
  char name[64];
} autotune_kernel_argument;
/* Describes argument `index` of the function for these sizes, or with count = 0 without `elements`.
 * AUTOTUNE_USAGE where there is none, and for a name of more than 63 characters. */
AUTOTUNE_C_API autotune_status autotune_kernel_argument_at(autotune_kernel *kernel,
                                                           const autotune_kernel_size *sizes,
                                                           size_t count, size_t index,
                                                           autotune_kernel_argument *argument);

typedef struct {
  int32_t kind;        /* AUTOTUNE_ADDRESS, ...: which of the members below counts */
  int32_t reserved;    /* 0 */
  const void *address; /* of the device, of host memory on the CPU device */
  int64_t whole;
  double real;
} autotune_launch_argument;
/* Launches the kernel with the arguments of the function, in its order. sizes: all of them, or NULL
 * and 0 where all stand among the arguments. The first call for some sizes compiles and loads. */
AUTOTUNE_C_API autotune_status autotune_kernel_launch(
    autotune_kernel *kernel, const autotune_kernel_size *sizes, size_t count,
    const autotune_launch_argument *arguments, size_t argument_count, autotune_stream stream);

#ifdef __cplusplus
}
#endif

#endif
