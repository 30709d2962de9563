"""One `Registry` for every family of components: losses, measures, regularizers, structured models, solvers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from fenchel.errors import InputError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """The classes of one kind of component by name, which is the class name in snake case.

    Parameters
    ----------
    what : the kind of component in messages, such as "loss".
    classes : the classes, or their names if they are imported at the first use.
    accept : validates a component, and returns it or an equivalent one, or raises InputError.
    base : the common base class, if there is one; other objects are rejected.
    load : a function that returns the class of a name in `classes`.

    Examples
    --------
    >>> from fenchel.losses import LOSSES, Huber
    >>> LOSSES.make("huber"), LOSSES.parameters(Huber(0.5))
    (Huber(delta=1.0), {'name': 'huber', 'delta': 0.5})
    >>> LOSSES.from_parameters({"name": "huber", "delta": 0.5})
    Huber(delta=0.5)
    >>> LOSSES.make("hubber")
    Traceback (most recent call last):
    fenchel.errors.UnknownNameError: unknown loss 'hubber'. Did you mean 'huber'? ...
    """

    def __init__(
        self,
        what: str,
        classes: Iterable[type[T] | str],
        accept: Callable[[Any], T] | None = None,
        base: type[T] | None = None,
        load: Callable[[str], type[T]] | None = None,
    ):
        self.what = what
        self._accept, self._base, self._load = accept, base, load
        self._classes: dict[str, type[T] | str] = {
            snake_case(cls if isinstance(cls, str) else cls.__name__): cls for cls in classes
        }

    def __getitem__(self, name: str) -> type[T]:
        found = self._classes[name]
        if isinstance(found, str):
            assert self._load is not None
            found = self._classes[name] = self._load(found)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._classes

    @property
    def class_names(self) -> list[str]:
        """The names of the classes themselves."""
        return [cls if isinstance(cls, str) else cls.__name__ for cls in self._classes.values()]

    def lookup(self, name: object, what: str | None = None, also: Iterable[str] = ()) -> type[T]:
        """The class of a name, or UnknownNameError with the nearest name; `also` are further names to suggest."""
        if name not in self:
            raise UnknownNameError(what or self.what, str(name), [*self, *also])
        return self[str(name)]

    def make(self, spec: object, *arguments: object, also: Iterable[str] = ()) -> T:
        """A component from its name, with `arguments` and otherwise default parameters, or the given object itself."""
        if isinstance(spec, str):
            cls = self.lookup(spec, also=also)
            missing = required(cls)[len(arguments) :]
            if missing:
                raise InputError(
                    f"{self.what} {spec!r} needs {', '.join(missing)}: pass {home_of(cls)}.{call_of(cls)} instead."
                )
            spec = cls(*arguments)
        elif isinstance(spec, type):
            raise InputError(
                f"{self.what} must be a name or an object, got the class {spec.__name__}; call it: {call_of(spec)}"
            )
        return self.accept(spec)

    def accept(self, component: Any) -> T:
        """The validated component, or InputError."""
        if self._base is not None and not isinstance(component, self._base):
            raise InputError(f"{self.what} must be a name or a {self._base.__name__} object, got {component!r}.")
        return component if self._accept is None else self._accept(component)

    def name_of(self, component: object) -> str | None:
        """The name of its class; None if the class is not registered."""
        name = snake_case(type(component).__name__)
        return name if name in self and self[name] is type(component) else None

    def written_name(self, component: object) -> str:
        """The name of the component in files; InputError if its class is not registered."""
        name = self.name_of(component)
        if name is None:
            raise InputError(
                f"{type(component).__name__} is not a built-in {self.what} and cannot be written to a file"
            )
        return name

    def parameters(self, component: Any) -> dict[str, Any]:
        """The component as plain data, for model files: {"name": ..., parameters}.

        These are the parameters of its constructor, or what its method `saved` returns.
        """
        name = self.written_name(component)
        if hasattr(component, "saved"):
            found = component.saved()
        else:
            found = {key: getattr(component, key) for key in inspect.signature(type(component)).parameters}
        return {"name": name} | {key: self._plain(value) for key, value in found.items()}

    def _plain(self, value: object) -> Any:
        if self.name_of(value) is None and not callable(getattr(value, "value", None)):
            return value
        return self.parameters(value)  # of a component of a user's own inside another one, an error

    def from_parameters(self, data: Mapping[str, Any]) -> T:
        """The inverse; raises an error if the data do not define a valid component."""
        cls = self.lookup(data.get("name"))
        values = {
            key: self.from_parameters(value) if isinstance(value, dict) else value
            for key, value in data.items()
            if key != "name"
        }
        maker: Callable[..., Any] = getattr(cls, "from_saved", cls)
        try:
            return self.accept(maker(**values))
        except TypeError as error:
            raise InputError(f"parameters of {self.what} {data['name']!r} do not fit: {error}") from None


def snake_case(name: str) -> str:
    """The name of a component from the name of its class.

    >>> [snake_case(name) for name in ("ElasticNet", "TopK", "ROCArea", "L1Ball", "LBFGS", "NewtonCG")]
    ['elastic_net', 'top_k', 'roc_area', 'l1_ball', 'lbfgs', 'newton_cg']
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


_REQUIRED: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()  # because reading a signature takes long


def required(cls: type) -> tuple[str, ...]:
    """The names of the parameters without a default."""
    if cls not in _REQUIRED:
        parameters = inspect.signature(cls).parameters.values()
        _REQUIRED[cls] = tuple(one.name for one in parameters if one.default is one.empty)
    return _REQUIRED[cls]


def call_of(cls: type) -> str:
    """The constructor call as text, with the names of the parameters without a default."""
    return f"{cls.__name__}({', '.join(required(cls)) or '...'})"


def home_of(cls: type) -> str:
    """The package from which users import the class."""
    return ".".join(cls.__module__.split(".")[:2])


def classes_in(namespace: Mapping[str, Any], belongs: type[T] | Callable[[type], bool]) -> list[type[T]]:
    """The component classes among the names that a package has imported, so that importing a class registers it.

    These are the classes that inherit from a base, or for which a function returns True.
    """
    found: list[type[T]] = []
    for thing in namespace.values():
        if isinstance(thing, type):
            inherits = isinstance(belongs, type) and issubclass(thing, belongs) and thing is not belongs
            if inherits or (not isinstance(belongs, type) and belongs(thing)):
                found.append(thing)
    return sorted(found, key=lambda cls: snake_case(cls.__name__))


def public_names(registry: Registry[Any], *others: str | type | Callable[..., Any]) -> list[str]:
    """The `__all__` of a package: the registered classes and others; first constants, then classes, then functions."""

    def order(name: str) -> tuple[int, str]:
        return 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name

    names = {other if isinstance(other, str) else other.__name__ for other in others}
    return sorted({*registry.class_names, *names}, key=order)
