# SPDX-License-Identifier: Apache-2.0
"""Python imports this module at start-up because `gputune run --loader` puts its directory first in PYTHONPATH.

When torch.utils.data.dataloader is imported later, arguments of DataLoader that the script leaves at their default get the
values of GPUTUNE_LOADER_WORKERS, _PREFETCH and _PIN. At exit one line reports the time that the main thread waited for
batches. torch is not imported by this module. The sitecustomize that this one hides is executed as well.
"""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATALOADER = "torch.utils.data.dataloader"


def run_hidden():
    """Executes the sitecustomize of the environment or the distribution, if there is one."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or os.curdir) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def usable_cpus():
    """CPUs of this process: of the rank, if gputune or a launcher has bound it."""
    return max(1, min(len(os.sched_getaffinity(0)), int(os.environ.get("GPUTUNE_LOADER_CPUS") or 1 << 20)))


class Settings:
    def __init__(self):
        self.workers = os.environ.get("GPUTUNE_LOADER_WORKERS")
        self.prefetch = os.environ.get("GPUTUNE_LOADER_PREFETCH")
        self.pin = os.environ.get("GPUTUNE_LOADER_PIN")
        self.force = os.environ.get("GPUTUNE_LOADER_FORCE") == "1"
        self.auto = self.workers == "auto"
        self.workers = min(usable_cpus(), 8) if self.auto else int(self.workers) if self.workers else None
        self.reasons, self.used = [], set()

    def reason(self, text):
        if text not in self.reasons:
            self.reasons.append(text)


def why_no_workers(torch_data, dataset, given, auto):
    """Returns why the number of workers must stay; None: it may change."""
    import multiprocessing
    if isinstance(dataset, torch_data.IterableDataset):
        return "an IterableDataset would repeat its samples in each worker"
    if multiprocessing.current_process().daemon:
        return "a daemon process can start no workers"
    context = given.get("multiprocessing_context")
    method = context if isinstance(context, str) else getattr(context, "get_start_method", multiprocessing.get_start_method)()
    if auto and usable_cpus() == 1 and not torch_data.dataloader.torch.cuda.is_available():
        return "a worker would share the only CPU with the main thread"
    if method != "fork":
        return f"the start method is {method}, which needs a dataset that can be pickled"
    tensors = getattr(dataset, "tensors", None)
    if isinstance(dataset, torch_data.TensorDataset) and tensors:
        if any(t.is_cuda for t in tensors):
            return "the dataset is in GPU memory"
        if auto:
            return "the dataset is in memory"
    return None


def change(settings, module, signature, self, args, kwargs):
    """Returns the keyword arguments to add or replace."""
    given = signature.bind_partial(self, *args, **kwargs).arguments
    free = lambda name: settings.force or name not in given  # noqa: E731
    new, workers = {}, given.get("num_workers", 0)
    if settings.workers is not None:
        why = why_no_workers(module.torch.utils.data, given.get("dataset"), given, settings.auto)
        if why:
            settings.reason(why)
        elif not free("num_workers") and workers != settings.workers:
            settings.reason("the program passes num_workers itself: --loader-force replaces it")
        elif free("num_workers"):
            new["num_workers"] = workers = settings.workers
    if settings.prefetch and workers and (free("prefetch_factor") or given.get("prefetch_factor") is None):
        new["prefetch_factor"] = int(settings.prefetch)
    if not workers and "num_workers" in new:
        new.update({k: signature.parameters[k].default for k in ("prefetch_factor", "persistent_workers") if given.get(k)})
    if settings.pin and free("pin_memory") and (settings.pin == "off" or module.torch.cuda.is_available()):
        new["pin_memory"] = settings.pin == "on"
    return new


def merge(signature, self, args, kwargs, new):
    """Replaces arguments that were passed by position, too."""
    names = list(signature.parameters)[1:]
    args = [new.pop(names[i], v) if i < len(names) else v for i, v in enumerate(args)]
    return args, {**kwargs, **new}


def replacement(own, module):
    """Returns how the program replaced torch.utils.data.DataLoader by a class of its own; None: it did not."""
    for place in (module.torch.utils.data, module):
        now = getattr(place, "DataLoader", own)
        if now is not own and not (isinstance(now, type) and issubclass(now, own)):
            return (f"the program replaces {place.__name__}.DataLoader by "
                    f"{getattr(now, '__module__', '')}.{getattr(now, '__qualname__', now)}")
    return None


def patch(module):
    import atexit
    import functools
    import inspect
    import time
    settings, owner = Settings(), os.getpid()
    spent = {"batches": 0, "wait": 0.0, "first": None, "last": None}
    plain, signature = module.DataLoader.__init__, inspect.signature(module.DataLoader.__init__)

    @functools.wraps(plain)
    def init(self, *args, **kwargs):
        try:
            new = change(settings, module, signature, self, args, kwargs)
        except TypeError:  # arguments that DataLoader refuses itself
            new = {}
        args, kwargs = merge(signature, self, args, kwargs, new)
        plain(self, *args, **kwargs)

    own = module.DataLoader
    own.__init__ = init
    fetch = module._BaseDataLoaderIter.__next__

    @functools.wraps(fetch)
    def fetch_timed(self):
        begin = time.perf_counter()
        spent["first"] = begin if spent["first"] is None else spent["first"]
        try:
            batch = fetch(self)
            spent["batches"] += 1
            return batch
        finally:
            spent["last"] = time.perf_counter()
            spent["wait"] += spent["last"] - begin
            settings.used.add(self._num_workers)

    module._BaseDataLoaderIter.__next__ = fetch_timed

    def report():
        if os.getpid() != owner:
            return
        why = replacement(own, module)
        if not spent["batches"]:
            if why:
                print(f"gputune: --loader has no effect: {why}", file=sys.stderr, flush=True)
            return
        if why:
            settings.reason(why)
        total = max(spent["last"] - spent["first"], 1e-9)
        workers = "/".join(str(n) for n in sorted(settings.used))
        rank = os.environ.get("LOCAL_RANK")
        print(f"gputune: DataLoader{f' of rank {rank}' if rank else ''} with {workers} workers: the main thread waited "
              f"{spent['wait']:.2f} of {total:.2f} s ({100 * spent['wait'] / total:.0f} %) for {spent['batches']} batches"
              + "".join(f"; {r}" for r in settings.reasons)
              + ("; random values of transforms differ from those without workers" if any(settings.used) else ""),
              file=sys.stderr, flush=True)

    atexit.register(report)


class Finder:
    """Changes DataLoader after its module is executed."""

    def find_spec(self, name, path=None, target=None):
        if name != DATALOADER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    patch(module)
                except Exception as e:  # pylint: disable=broad-except
                    print(f"gputune: --loader has no effect with this PyTorch: {e}", file=sys.stderr)

            spec.loader.exec_module = exec_module
        return spec


run_hidden()
if any(k.startswith("GPUTUNE_LOADER_") for k in os.environ):
    sys.meta_path.insert(0, Finder())
