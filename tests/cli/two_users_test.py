#!/usr/bin/env python3
"""Two users of one machine, one of them hostile, with two user ids: no code of the hostile one runs
as the other, none of the other's files is changed or deleted, and no winner is taken from him.

usage: two_users_test.py PROGRAM FAKE_CUDA

Needs the root user. The folders of the test are the only ones that it changes.
"""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
PAGE, SECTOR = 4096, 512
SEARCH = ["tune", "--device", "cpu", "--sizes", "24", "--template", "gemm_tiled", "--tile-width", "8",
          "--results-per-thread", "1", "--trials", "2"]


def free_ids(count):
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return [number for number in range(4200, 5000) if number not in taken][:count]


def journal_of(pages, other=b""):
    """What a killed writer would leave: rolling it back makes the database equal to `pages`. With
    the name of another file SQLite would delete that file."""
    count = len(pages) // PAGE
    numbers = (count, 0, count, SECTOR, PAGE)
    journal = (MAGIC + b"".join(number.to_bytes(4, "big") for number in numbers)).ljust(SECTOR, b"\0")
    for number in range(count):
        page = pages[number * PAGE:(number + 1) * PAGE]
        checked = sum(page[at] for at in range(PAGE - 200, 0, -200))
        journal += (number + 1).to_bytes(4, "big") + page + checked.to_bytes(4, "big")
    if other:
        journal += ((0x40000000 // PAGE + 1).to_bytes(4, "big") + other + len(other).to_bytes(4, "big") +
                    sum(other).to_bytes(4, "big") + MAGIC)
    return journal


class User:
    """Somebody with a home of their own, who runs the program and makes files."""

    def __init__(self, test, number, name):
        self.number = number
        self.home = test.folder / name
        self.home.mkdir(mode=0o700)
        os.chown(self.home, number, number)
        self.program = test.folder / "autotune"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": "/tmp",
                            "CXX": str(test.folder / "c++"), "AUTOTUNE_LIBCUDA": "none"}

    def start(self, words, umask=0o022, **environment):
        return subprocess.Popen(words, user=self.number, group=self.number, extra_groups=[], umask=umask,
                                env=self.environment | environment, cwd=self.home, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words, **environment):
        process = self.start([self.program, *words], **environment)
        out, err = process.communicate(timeout=300)
        err = err.replace("autotune: waiting for the compiler\n", "")  # which a slow machine adds
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def shell(self, script):
        process = self.start(["/bin/sh", "-ec", script], umask=0)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out

    def write(self, path, content, mode=0o644):
        """Makes a file, or replaces one, as this user may."""
        source = self.home / "source"
        source.write_bytes(content)
        os.chown(source, self.number, self.number)
        self.shell(f"rm -f '{path}'; cp '{source}' '{path}'; chmod {mode:o} '{path}'")


class TwoUsers:
    def __init__(self, folder, program, fake_cuda):
        self.folder = folder
        shutil.copy(program, folder / "autotune")
        shutil.copy(fake_cuda, folder / "libcuda.so.1")
        # One compiler for both, which adds code to kernels where the hostile user wants it.
        self.mark = folder / "marks" / "ran"
        self.mark.parent.mkdir()
        os.chmod(self.mark.parent, 0o1777)
        (folder / "evil.hpp").write_text(
            'extern "C" int creat(const char*, unsigned);\n'
            f'__attribute__((constructor)) static void evil() {{ creat("{self.mark}", 0666); }}\n')
        (folder / "c++").write_text(
            f'#!/bin/sh\n[ -n "$EVIL" ] && [ "$1" != --version ] && set -- "$@" -include {folder}/evil.hpp\n'
            'exec /usr/bin/c++ "$@"\n')
        os.chmod(folder / "c++", 0o755)
        first, second = free_ids(2)
        self.victim = User(self, first, "victim")
        self.hostile = User(self, second, "hostile")
        self.precious = self.victim.home / "precious"
        self.precious.write_text("precious")
        os.chown(self.precious, first, first)
        self.shared_folders = 0

    def shared(self, mode):
        self.shared_folders += 1
        path = self.folder / f"shared-{self.shared_folders}"
        path.mkdir()
        os.chmod(path, mode)
        return path

    def check_unharmed(self):
        assert not self.mark.exists(), "the hostile user's code ran"
        assert self.precious.read_text() == "precious", "a file was changed"

    def code_does_not_run(self):
        """The hostile user's compiled kernels lie where the victim's program looks for its own."""
        evil = self.hostile.run(*SEARCH, EVIL="1")
        assert evil.returncode == 0 and self.mark.exists(), "the attack itself does not work"
        self.mark.unlink()
        kernels = (self.hostile.home / ".cache/autotune/cubins.db").read_bytes()

        def victim_tunes(cache):
            result = self.victim.run(*SEARCH, "--fresh", XDG_CACHE_HOME=str(cache))
            assert result.returncode == 0, result.stderr
            self.check_unharmed()

        self.hostile.shell("chmod -R a+rX . && chmod 755 .cache")
        for mode in (0o1777, 0o777):
            cache = self.shared(mode)  # the folder is a link to his own
            self.hostile.shell(f"ln -s {self.hostile.home}/.cache/autotune {cache}/autotune")
            victim_tunes(cache)
            cache = self.shared(mode)  # or to one of the victim's
            self.hostile.shell(f"ln -s {self.victim.home} {cache}/autotune")
            victim_tunes(cache)
            assert not (self.victim.home / "cubins.db").exists()
            cache = self.shared(mode)  # the hostile user was first
            self.hostile.shell(f"mkdir -m 777 {cache}/autotune")
            self.hostile.write(cache / "autotune/cubins.db", kernels, 0o666)
            victim_tunes(cache)
            cache = self.shared(mode)  # he adds a journal to the victim's file
            self.hostile.shell(f"mkdir -m 777 {cache}/autotune")
            victim_tunes(cache)
            self.victim.write(cache / "autotune/cubins.db", kernels[:PAGE], 0o600)
            self.hostile.write(cache / "autotune/cubins.db-journal", journal_of(kernels), 0o666)
            victim_tunes(cache)
        cache = self.shared(0o777)  # he replaces the victim's folder
        victim_tunes(cache)
        self.hostile.shell(f"mv {cache}/autotune {cache}/away 2>/dev/null || true; mkdir -p {cache}/autotune")
        self.hostile.shell(f"cp {self.hostile.home}/.cache/autotune/cubins.db {cache}/autotune/ || true")
        victim_tunes(cache)

    def compiling_needs_a_folder_of_its_own(self):
        """Who can replace the compiler's folder could put code into it."""
        open_folder = self.shared(0o777)
        result = self.victim.run(*SEARCH, "--fresh", TMPDIR=str(open_folder), XDG_CACHE_HOME=str(open_folder))
        assert result.returncode == 3, result
        assert f"other users can change the folder {open_folder}" in result.stderr, result.stderr
        sticky = self.shared(0o1777)
        self.hostile.shell(f"mkdir -m 777 {sticky}/autotune-kernel-AbCdEf; touch {sticky}/autotune-kernel-AbCdEf/x")
        self.hostile.shell(f"ln -s {self.victim.home} {sticky}/autotune-kernel-GhIjKl")
        cache = self.shared(0o1777)
        result = self.victim.run(*SEARCH, "--fresh", TMPDIR=str(sticky), XDG_CACHE_HOME=str(cache / "new"))
        assert result.returncode == 0, result.stderr
        assert {path.name for path in sticky.iterdir()} == {"autotune-kernel-AbCdEf", "autotune-kernel-GhIjKl"}
        self.check_unharmed()

    def no_winner_is_taken(self):
        """Databases that the hostile user put where the victim's would be, or beside it."""
        assert self.victim.run(*SEARCH).returncode == 0
        own = self.victim.home / ".local/share/autotune/autotune.db"
        known = self.victim.run("db", "winners").stdout
        assert known.count("\n") == 1
        assert self.hostile.run(*SEARCH, "--fresh", XDG_CACHE_HOME=str(self.hostile.home / "harmless")).returncode == 0
        evil = (self.hostile.home / ".local/share/autotune/autotune.db").read_bytes()
        query = ["query", "--device", "cpu", "--sizes", "24", "--json"]
        self.hostile.shell("chmod 755 . && chmod -R a+rX .local")
        for mode in (0o1777, 0o777):
            data = self.shared(mode)
            self.hostile.shell(f"mkdir {data}/autotune")
            self.hostile.write(data / "autotune/autotune.db", evil)
            named = self.shared(mode) / "some.db"
            self.hostile.write(named, evil, 0o666)
            linked = self.shared(mode)
            self.hostile.shell(f"ln -s {self.hostile.home}/.local/share/autotune {linked}/autotune")
            for place in ({"XDG_DATA_HOME": str(data)}, {"XDG_DATA_HOME": str(linked)},
                          {"AUTOTUNE_DB": str(named)}):
                result = self.victim.run(*query, **place)
                assert result.returncode == 4, result
                assert "another user may have written it" in result.stderr, result.stderr
                for command in (["db", "winners"], ["db", "stats"], ["report"], ["db", "export", "--format", "csv"]):
                    result = self.victim.run(*command, **place)
                    assert result.returncode == 2 and result.stdout == "", result
                result = self.victim.run(*SEARCH, **place)
                assert result.returncode == 6 and "2 measured, 0 known" in result.stdout, result
                assert result.stderr.count("\n") == 1, result.stderr
            assert named.read_bytes() == evil
        # What the system's administrator, or another user in folders of their own, offers is read.
        site = self.folder / "site.db"
        site.write_bytes(evil)
        self.hostile.write(self.hostile.home / "offered.db", evil)
        for path in (site, self.hostile.home / "offered.db"):
            assert self.victim.run(*query, AUTOTUNE_DB=str(path)).returncode == 0, path
        # A journal beside the victim's database in a folder where everybody makes files.
        database = self.shared(0o1777) / "victim.db"
        self.victim.write(database, own.read_bytes(), 0o600)
        before = database.read_bytes()
        for end in ("-journal", "-wal"):
            beside = pathlib.Path(str(database) + end)
            self.hostile.write(beside, journal_of(evil[:len(before)]), 0o666)
            for command in (["db", "winners"], ["tune", *SEARCH[1:], "--fresh"]):
                result = self.victim.run(*command, "--db", str(database))
                assert result.returncode == 2 or result.stdout == known, result
            assert database.read_bytes() == before
            self.hostile.shell(f"rm {beside}")
        assert self.victim.run("db", "winners", "--db", str(database)).stdout == known

    def no_file_is_deleted_or_changed(self):
        """The hostile user's database has a journal that names a file of the victim's, and links of
        his lie where the victim's output goes."""
        place = self.shared(0o777)
        evil = place / "evil.db"
        pages = (self.hostile.home / ".local/share/autotune/autotune.db").read_bytes()
        self.hostile.write(evil, pages, 0o666)
        journal = pathlib.Path(str(evil) + "-journal")
        own = self.victim.home / "own.db"
        for content in (journal_of(pages, str(self.precious).encode()), journal_of(b"", str(self.precious).encode())):
            for command in (["db", "stats", "--db", evil], ["db", "winners", "--db", evil],
                            ["query", "--device", "cpu", "--db", evil], ["report", "--db", evil],
                            ["db", "merge", evil, "--db", own], [*SEARCH, "--db", evil]):
                self.hostile.write(journal, content, 0o666)
                assert self.victim.run(*command).returncode in (0, 2, 4), command
                self.check_unharmed()
                assert journal.exists() and evil.read_bytes() == pages
        self.hostile.shell(f"rm {journal}")
        assert self.victim.run(*SEARCH).returncode == 0
        for output in (place / "out.json", self.shared(0o1777) / "out.json"):
            self.hostile.shell(f"ln -s {self.precious} {output}")
            result = self.victim.run("db", "export", "--format", "json", "--output", str(output))
            assert result.returncode == 2 and result.stderr.count("\n") == 1, result
            self.check_unharmed()
        # The database's own place is a link, or what claims trials is.
        self.hostile.shell(f"ln -s {self.precious} {place}/link.db")
        assert self.victim.run(*SEARCH, "--db", str(place / "link.db")).returncode == 2
        claimed = self.shared(0o1777) / "claimed.db"
        database = self.victim.home / ".local/share/autotune/autotune.db"
        self.victim.write(claimed, database.read_bytes(), 0o600)
        self.hostile.shell(f"ln -s {self.precious} {claimed}-claims")
        assert self.victim.run(*SEARCH, "--db", str(claimed)).returncode == 0
        self.check_unharmed()

    def the_device_is_locked_for_all(self):
        """A run of one user is waited for by the other's, whatever his umask is, and said."""
        driver = {"AUTOTUNE_LIBCUDA": str(self.folder / "libcuda.so.1")}
        place = {"TMPDIR": str(self.shared(0o1777))}
        search = ["tune", "--sizes", "64", "--template", "gemm_tiled", "--fresh"]
        lock = pathlib.Path(place["TMPDIR"]) / "autotune-GPU-00010203-0405-0607-0809-0a0b0c0d0e0f.lock"
        first = self.hostile.start([self.hostile.program, *search, "--budget", "60s"], umask=0o077, **driver, **place)
        while not lock.exists() or lock.stat().st_mode & 0o777 != 0o644:
            if first.poll() is not None:
                error = first.stderr.read()
                if "NVRTC" in error:
                    return "no NVRTC"
                raise AssertionError(error)
            time.sleep(0.01)
        began = time.monotonic()
        result = self.victim.run(*search, "--budget", "3s", **driver, **place)
        assert result.returncode == 3 and time.monotonic() - began < 30, result
        assert "waiting for another run" in result.stderr, result.stderr
        assert "for the whole budget" in result.stderr, result.stderr
        first.kill()
        first.communicate()
        lock.unlink()
        for planted, reason in ((f"mkfifo -m 666 {lock}", "is not a regular file"),
                                (f"ln -s {self.precious} {lock}", "is a symbolic link"),
                                (f"touch {lock}; chmod 000 {lock}", "Permission denied"),
                                (f"mkdir {lock}", "is not a regular file")):
            self.hostile.shell(planted)
            result = self.victim.run(*search, "--trials", "1", **driver, **place)
            assert result.returncode == 0 and "cannot be locked" in result.stderr, (planted, result)
            assert reason in result.stderr, (planted, result)
            self.hostile.shell(f"rm -r {lock}")
        self.check_unharmed()
        return None


def main():
    if os.geteuid() != 0:
        print("SKIPPED: only root can be two users")
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-two-users-"))
    os.chmod(folder, 0o755)
    try:
        test = TwoUsers(folder, *sys.argv[1:])
        try:
            test.victim.shell("true")
        except (OSError, subprocess.SubprocessError) as error:
            print(f"SKIPPED: no process can have another user id: {error}")
            return
        for part in (test.code_does_not_run, test.compiling_needs_a_folder_of_its_own, test.no_winner_is_taken,
                     test.no_file_is_deleted_or_changed, test.the_device_is_locked_for_all):
            left_out = part()
            print(f"two users: {part.__name__}: {f'left out: {left_out}' if left_out else 'right'}", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
