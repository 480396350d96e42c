"""Kernel Tuner's calls, for scripts that were written for it.

    from autotune import kernel_tuner
    results, env = kernel_tuner.tune_kernel("vector_add", source, n, [c, a, b, n], {"block_size_x": [64, 128]})

The arguments and the results are those of Kernel Tuner 1.x. Kernels are compiled, checked and timed by the program
`autotune`, in processes of its own. docs/own-kernels.md says what is refused. Needs NumPy.
"""

from .files import store_metadata_file, store_output_file
from .interface import run_kernel, tune_kernel
from .results import (CompilationFailedConfig, ErrorConfig, InvalidConfig, RuntimeFailedConfig,
                      get_best_config, get_config_string)

__all__ = ["CompilationFailedConfig", "ErrorConfig", "InvalidConfig", "RuntimeFailedConfig", "get_best_config",
           "get_config_string", "run_kernel", "store_metadata_file", "store_output_file", "tune_kernel"]
