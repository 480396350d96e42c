"""What scripts take from kernel_tuner.file_utils."""

from .files import store_metadata_file, store_output_file

__all__ = ["store_metadata_file", "store_output_file"]
