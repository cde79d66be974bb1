# SPDX-License-Identifier: Apache-2.0
"""Files of http, https, s3 and gs, which the compiled part reads by itself."""
from __future__ import annotations

import datetime
import importlib.util
import os
import pathlib
from typing import Any, Callable, Mapping, Optional, Union

from forebay import _at_exit, _core
from forebay.errors import ConfigError

Path = Union[str, "os.PathLike[str]"]


class Threads:
    """Those that ask for credentials call functions of the program, and must be out of them before the interpreter ends."""

    def close(self) -> None:
        _core.stop_http()


_at_exit.close_after_loaders(Threads())


class HttpFiles:
    """Files of `http` and `https`, read by libcurl, with options of the program:

        fb.add_file_system("https", fb.HttpFiles(headers={"Authorization": "Bearer …"}))

    Without one, these schemes are read with the options as they are here.

    allow_http: read `http` from other machines, too. Without TLS, anyone on the way can read the bytes and change them. The
    environment variable `FOREBAY_ALLOW_HTTP=1` says the same where no HttpFiles is named.
    connections: at most, to one host; 1 to 256.
    deadline: seconds; a request that gets no byte for so long is an error.
    headers: are sent to the host of an address, and not to one that it redirects to. They are in no state and no message.
    ca_file: the certificates to trust; None: `$SSL_CERT_FILE`, `$CURL_CA_BUNDLE`, or those of the system.

    libcurl is that of the system, else that of the package pycurl (`pip install forebay[remote]`). Raises ConfigError when there
    is neither, and for options that are wrong.
    """

    schemes = ("http", "https")

    def __init__(self, *, allow_http: bool = False, connections: int = 32, deadline: int = 180,
                 headers: "Optional[Mapping[str, str]]" = None, ca_file: "Optional[Path]" = None) -> None:
        self.files = _with_libcurl(lambda library: _core.http_files(
            allow_http=allow_http, connections=connections, deadline=deadline, headers=_lines(headers), ca_file=_text(ca_file), library=library))


class S3Files:
    """Files of `s3`, and of stores that speak its language, read by libcurl, which signs the requests:

        fb.add_file_system("s3", fb.S3Files(endpoint="https://example.com", region="eu-1"))

    Without one, `s3` is read with the options as they are here.

    endpoint: the address of another store than that of AWS; None: `$AWS_ENDPOINT_URL_S3`, `$AWS_ENDPOINT_URL` or the profile.
    region: None: `$AWS_REGION`, `$AWS_DEFAULT_REGION` or the profile. A bucket of another one says so, and is asked there.
    profile: of the files in `~/.aws`; None: `$AWS_PROFILE`, else "default".
    anonymous: public data, nothing is signed. `$AWS_NO_SIGN_REQUEST=YES` says the same.
    requester_pays: accept the costs of requests. `$AWS_REQUEST_PAYER=requester` says the same.
    credentials: a function that gives a mapping with `access_key` and `secret_key`, and `token` and `expires` (seconds since 1970)
    where they have these. It is called again five minutes before they expire. None: the environment, the profile, the container,
    what the package botocore finds where it is installed, and the machine (IMDSv2), in this order.
    allow_http, connections, deadline, ca_file: as in HttpFiles.

    Secrets are in no state, message and repr. Raises ConfigError as HttpFiles does.
    """

    schemes = ("s3",)

    def __init__(self, *, endpoint: "Optional[str]" = None, region: "Optional[str]" = None, profile: "Optional[str]" = None,
                 anonymous: bool = False, requester_pays: bool = False, credentials: "Optional[Callable[[], Mapping[str, Any]]]" = None,
                 allow_http: bool = False, connections: int = 32, deadline: int = 180, ca_file: "Optional[Path]" = None) -> None:
        given = None if credentials is None else lambda: _as_row(credentials(), "the program")
        self.files = _with_libcurl(lambda library: _core.s3_files(
            allow_http=allow_http, connections=connections, deadline=deadline, headers=[], ca_file=_text(ca_file), library=library,
            endpoint=endpoint or "", region=region or "", profile=profile or "", anonymous=anonymous, requester_pays=requester_pays,
            credentials=given, other_credentials=lambda: _of_botocore(profile)))


class GsFiles:
    """Files of Google Cloud Storage, `gs`, read by libcurl. Experimental: it was tried with a server of our tests alone.

        fb.add_file_system("gs", fb.GsFiles(anonymous=True))

    Without one, `gs` is read with the options as they are here.

    endpoint: the address of another server; None: `$STORAGE_EMULATOR_HOST`, or that of Google.
    project: the one that pays for requests to buckets whose requesters pay.
    anonymous: public data, no token is shown.
    token: a function that gives an OAuth 2.0 access token, or a pair of one and of the time at which it ends (seconds since 1970).
    It is called again five minutes before that. None: `$GOOGLE_OAUTH_ACCESS_TOKEN` or `$CLOUDSDK_AUTH_ACCESS_TOKEN`, what the package
    google-auth finds where it is installed, and the machine, in this order.
    allow_http, connections, deadline, ca_file: as in HttpFiles.

    Tokens are in no state, message and repr. Raises ConfigError as HttpFiles does.
    """

    schemes = ("gs",)

    def __init__(self, *, endpoint: "Optional[str]" = None, project: "Optional[str]" = None, anonymous: bool = False,
                 token: "Optional[Callable[[], Union[str, tuple[str, float]]]]" = None, allow_http: bool = False, connections: int = 32,
                 deadline: int = 180, ca_file: "Optional[Path]" = None) -> None:
        given = None if token is None else lambda: _as_token(token(), "the program")
        self.files = _with_libcurl(lambda library: _core.gs_files(
            allow_http=allow_http, connections=connections, deadline=deadline, headers=[], ca_file=_text(ca_file), library=library,
            endpoint=endpoint or "", project=project or "", anonymous=anonymous, token=given, other_token=_of_google_auth))


WebFiles = Union[HttpFiles, S3Files, GsFiles]


def usual_files(scheme: str) -> WebFiles:
    """What reads `http`, `https`, `s3` or `gs` when nobody has named a reader."""
    kinds: "dict[str, type[WebFiles]]" = {"s3": S3Files, "gs": GsFiles}
    return kinds.get(scheme, HttpFiles)(allow_http=os.environ.get("FOREBAY_ALLOW_HTTP") == "1")


def _with_libcurl(make: "Callable[[str], _core.WebFiles]") -> "_core.WebFiles":
    try:
        return make("")
    except ConfigError:
        library = curl_of_pycurl()
        if library is None:
            raise
        return make(library)


def curl_of_pycurl() -> "Optional[str]":
    """The file of libcurl that the package pycurl has brought along."""
    spec = importlib.util.find_spec("pycurl")
    if spec is None or spec.origin is None:
        return None
    folder = pathlib.Path(spec.origin).parent   # beside the module, or beside the package that newer versions are
    found = [path for each in (folder, folder.parent) for path in sorted(each.glob("pycurl.libs/libcurl*.so*"))]
    return str(found[0]) if found else None


def _lines(headers: "Optional[Mapping[str, str]]") -> "list[str]":
    return [f"{name}: {value}" for name, value in (headers or {}).items()]


def _text(path: "Optional[Path]") -> str:
    return "" if path is None else os.fspath(path)


def _as_row(given: "Mapping[str, Any]", source: str) -> "tuple[str, str, Optional[str], str, Optional[int]]":
    missing = [name for name in ("access_key", "secret_key") if not given.get(name)]
    if missing:
        raise ConfigError(f"credentials: the function gives no {' and no '.join(f'`{name}`' for name in missing)}")
    expires = given.get("expires")
    return given["access_key"], given["secret_key"], given.get("token"), source, None if expires is None else int(expires)


def _of_botocore(profile: "Optional[str]") -> "tuple[str, str, Optional[str], str, Optional[int]]":
    """Roles, logins and all else that the package botocore knows. It is asked about each request's time itself, and renews them."""
    try:
        import botocore.session
    except ImportError:
        raise ConfigError("the package botocore, which knows roles and logins, is not installed") from None
    found = botocore.session.Session(profile=profile).get_credentials()
    if found is None:
        raise ConfigError("the package botocore finds none")
    frozen = found.get_frozen_credentials()
    until = getattr(found, "_expiry_time", None)
    return frozen.access_key, frozen.secret_key, frozen.token, "the package botocore", None if until is None else int(until.timestamp())


def _as_token(given: "Union[str, tuple[str, float]]", source: str) -> "tuple[str, str, Optional[int]]":
    token, expires = (given, None) if isinstance(given, str) else given
    if not isinstance(token, str) or not token or any(letter <= " " for letter in token):
        raise ConfigError("token: the function gives no text of letters, or one with spaces")
    return token, source, None if expires is None else int(expires)


def _of_google_auth() -> "tuple[str, str, Optional[int]]":
    """Logins, service accounts and all else that the package google-auth knows."""
    try:
        import google.auth
        import google.auth.transport.requests
    except ImportError:
        raise ConfigError("the package google-auth (with requests), which knows logins and service accounts, is not installed") from None
    found, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/devstorage.read_only"])
    found.refresh(google.auth.transport.requests.Request())
    until = found.expiry.replace(tzinfo=datetime.timezone.utc).timestamp() if found.expiry else None
    return _as_token((found.token, until) if until else found.token, "the package google-auth")
