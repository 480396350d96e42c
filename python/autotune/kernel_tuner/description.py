"""A kernel's description, as docs/own-kernels.md has it: a .cu file with pragmas, and the files of its data."""

from __future__ import annotations

import hashlib
import math
import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from ..errors import UnsupportedError
from . import arguments, c_text, constant_memory, launch, macros, space
from .declaration import declaration_of
from .messages import shown
from .parameters import Parameter, parameters_of
from .source import kernel_name_of, source_of

SIZE = "kernel_tuner_run"  # a kernel has sizes; those of a script's are numbers in the description


class Request(NamedTuple):
    """What a call says of a kernel, by the names of Kernel Tuner's arguments."""

    kernel_name: Any
    kernel_source: Any
    problem_size: Any
    arguments: Any
    tune_params: Any
    grid_div: Sequence[Any] = (None, None, None)
    restrictions: Any = None
    answer: Any = None
    atol: Any = 1e-6
    lang: Any = None
    smem_args: Any = None
    cmem_args: Any = None
    compiler_options: Any = None
    defines: Any = None
    block_size_names: Any = None
    keep_results: bool = False


class Description(NamedTuple):
    """A kernel that the program can tune."""

    path: str
    kernel: str  # the function's name
    key: str  # under which results are stored
    folder: str
    include_folders: List[str]
    parameters: Dict[str, Parameter]
    arguments: arguments.Arguments
    given: List[Any]  # the script's arguments
    default: Dict[str, Any]

    @property
    def options(self) -> List[str]:
        """The options that name it, for each command."""
        folders = [option for folder in self.include_folders for option in ("--include-folder", folder)]
        return ["--kernel", f"{self.path}:{self.kernel}", *folders]

    def own_configuration(self, configuration: Mapping[str, Any]) -> Dict[str, int]:
        """The program's numbers for a configuration of the script."""
        return {each.own_name: each.code(configuration[each.name]) for each in self.parameters.values()}

    def configuration(self, own: Mapping[str, int]) -> Dict[str, Any]:
        """The script's values for a configuration of the program."""
        return {each.name: each.value(own[each.own_name]) for each in self.parameters.values()}

    def result_file(self, name: str) -> str:
        """Where a run leaves the elements of a buffer, if they are kept."""
        return os.path.join(self.folder, name + ".result.npy")


def describe(request: Request, folder: str) -> Description:
    """Writes the description into a folder. Raises TypeError, ValueError or UnsupportedError for what is wrong."""
    name = kernel_name_of(request.kernel_name)
    source = source_of(request.kernel_source, request.lang)
    text = constant_memory.with_constants(source.text, request.cmem_args)
    parameters = parameters_of(request.tune_params, request.defines is not None)
    geometry = launch.launch_of(parameters, request.block_size_names, request.problem_size, request.grid_div)
    restrictions = space.restrictions_of(request.restrictions)
    allowed = [f"restriction({each})" for each in space.restriction_texts(parameters, restrictions)]
    default = space.default_configuration(parameters, restrictions, geometry.block_names)
    seen = macros.macros_of(parameters, geometry, text, request.defines)
    declaration = declaration_of(seen.text, name.name)
    types = dict(zip(declaration.template_parameters, name.template_arguments))
    bound = arguments.bound(declaration.arguments, request.arguments, types)

    directives = [f"tune({each.own_name} = {', '.join(map(str, each.codes))}) default({each.code(default[each.name])})"
                  for each in parameters.values()]
    directives += [f"size({SIZE})", f"block_size({', '.join(geometry.block)})",
                   f"grid_size({', '.join(geometry.grid)})"]
    directives += allowed + seen.directives
    directives += macros.template_directives(declaration.template_parameters, name.template_arguments, parameters)
    directives += [f"typename({alias} = {of})" for alias, of in bound.aliases.items()]
    shared = launch.shared_memory_of(parameters, request.smem_args)
    directives += [f"shared_memory({shared})"] if shared else []
    options, include_folders = _compiler_options(request.compiler_options)
    directives += [f"compiler({c_text.quoted(each, 'compiler_options')})" for each in options]
    answers = arguments.write_answers(folder, bound, request.answer, len(declaration.arguments))
    directives += _argument_directives(bound, answers, request.atol, request.keep_results)

    arguments.write_data(folder, bound)
    code = _annotated(seen, declaration.begin, directives, source.file_name)
    key = f"{name.name}_{hashlib.sha256(code.encode()).hexdigest()[:12]}"
    path = os.path.join(folder, re.sub(r"\W", "_", source.file_name.rsplit(".", 1)[0]) + ".cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_annotated(seen, declaration.begin, [f'tuning_key("{key}")', *directives], source.file_name))
    return Description(path, name.name, key, folder, [source.folder, *include_folders], parameters, bound,
                       list(request.arguments), default)


def _annotated(seen: macros.Macros, begin: int, directives: List[str], file_name: str) -> str:
    """The kernel's file. The compiler's messages have the lines of the script's text."""
    front, rest = seen.text[:begin], seen.text[begin:]
    lines = [*seen.lines, f'#line 1 "{file_name}"', front, *(f"#pragma kernel {each}" for each in directives),
             f'#line {front.count(chr(10)) + 1} "{file_name}"', rest]
    return "\n".join(lines) + "\n"


def _argument_directives(bound: arguments.Arguments, answers: List[str], atol: Any, keep_results: bool) -> List[str]:
    tolerance = float(atol) if atol is not None else 1e-6
    if not (0 <= tolerance < math.inf):
        raise ValueError(f"atol is {shown(atol)}: it must be a number from 0 on")
    directives = [f"scalar({name} = {value})" for name, value in bound.scalars.items()]
    for each in bound.buffers:
        name = each.argument.name
        directives.append(f'buffers({name}[{each.elements}]) data({name} = "{name}.npy")')
        if each.argument.is_const:
            continue
        # Kernel Tuner hands the script's array to the kernel, so what is not written stays.
        directives.append(f"inout({name})")
        if name in answers:
            directives.append(f'reference({name} = "{name}.answer.npy")')
            directives.append(f"tolerance({name} = {tolerance!r}, {arguments.RELATIVE_TOLERANCE!r})")
        else:
            directives.append(f"unchecked({name})")
        if keep_results:
            directives.append(f'results({name} = "{name}.result.npy")')
    return directives


def _compiler_options(given: Any) -> "tuple[List[str], List[str]]":
    """The options for the compiler, and the folders of files that are included."""
    options: List[str] = []
    folders: List[str] = []
    if isinstance(given, str) or not all(isinstance(each, str) for each in given or ()):
        raise TypeError(f"compiler_options is {shown(given)}: it must be a list of texts")
    words = iter(given or ())
    for word in words:
        if word.startswith("-I"):
            folders.append(os.path.abspath(word[2:] or next(words, ".")))
        elif re.match(r"--?(arch|gpu-architecture|gencode|gpu-code|code)\b", word):
            raise UnsupportedError(f"compiler_options has {word!r}: leave it out, kernels are compiled for the device")
        else:
            options.append(word)
    return options, folders
