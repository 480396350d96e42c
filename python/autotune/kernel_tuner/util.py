"""What scripts take from kernel_tuner.util."""

from .results import (CompilationFailedConfig, ErrorConfig, InvalidConfig, RuntimeFailedConfig, get_best_config,
                      get_config_string)

__all__ = ["CompilationFailedConfig", "ErrorConfig", "InvalidConfig", "RuntimeFailedConfig", "get_best_config",
           "get_config_string"]
