# SPDX-License-Identifier: Apache-2.0
"""Files of S3: signed requests that a server checks, lists, credentials, regions. No secret is shown anywhere."""
from __future__ import annotations

import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
from typing import Any, Iterator

import pytest
from command import COMMAND
from s3_server import PAGE, S3Server
from stores import records, values, write_parts
from web_server import Asked, Web, says

import forebay as fb

SECRET = "s3cr3t-0f-the-tests"


@pytest.fixture(scope="module")
def server() -> "Iterator[S3Server]":
    made = S3Server()
    yield made
    made.close()


@pytest.fixture
def signed(server: S3Server) -> "Iterator[S3Server]":
    fb.add_file_system("s3", fb.S3Files(endpoint=server.endpoint, credentials=lambda: {"access_key": server.key, "secret_key": server.secret}))
    yield server
    fb.add_file_system("s3", fb.S3Files())


@pytest.fixture
def web() -> "Iterator[Web]":
    """A server that signs for nothing and shows what it is asked for."""
    with Web() as made:
        yield made
    fb.add_file_system("s3", fb.S3Files())


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> "list[pathlib.Path]":
    return write_parts(tmp_path_factory.mktemp("parts"))


ORDERS = {"in order": lambda pipe: pipe, "shuffled": lambda pipe: pipe.shuffle(buffer=17), "global": lambda pipe: pipe.shuffle("global")}


@pytest.mark.parametrize("order", ORDERS)
def test_the_stream_is_that_of_local_files(signed: S3Server, parts: "list[pathlib.Path]", order: str) -> None:
    for path in parts:
        signed.put(f"data/ä b+c/{path.name}", path.read_bytes())
    local = ORDERS[order](records([str(path) for path in parts])).epochs(2).batch(8)
    remote = ORDERS[order](records("s3://bucket/data/ä b+c/part-*")).epochs(2).batch(8)
    wanted = values(local.load())
    for threads in (1, 4):
        assert values(remote.load(threads=threads)) == wanted
    with remote.load() as loader:
        next(loader)
        state = loader.state_dict()
    with remote.load(threads=3) as loader:
        loader.load_state_dict(state)
        assert values(loader) == wanted[1:]


def test_keys_of_any_letters_are_signed_as_the_server_expects(signed: S3Server) -> None:
    draw = random.Random(7)
    letters = "abcXYZ019-_.~ !\"$%&'()+,:;=@äß€😀//"
    for number in range(60):
        key = "k" + "".join(draw.choice(letters) for _ in range(draw.randrange(1, 40))) + "/x"
        if any(part in (".", "..") for part in key.split("/")) or "*" in key or "?" in key:
            continue
        text = f"line {number}".encode()
        path = signed.put(key, text + b"\n")
        with fb.lines([path.replace("[", "[[]")]).record("line").batch(1).load() as loader:
            assert next(loader)["line"].tolist() == [text], key


def test_lists_have_many_pages(signed: S3Server) -> None:
    for number in range(4 * PAGE + 1):
        signed.put(f"many/{number:04}.txt", b"x\n")
    signed.put("many/below/0.txt", b"below\n")
    signed.put("many/", b"")    # as some tools mark a folder
    assert len(list(fb.lines("s3://bucket/many/*.txt").record("line").batch(1).load())) == 4 * PAGE + 1
    assert len(list(fb.lines("s3://bucket/many/**/*.txt").record("line").batch(1).load())) == 4 * PAGE + 2


def test_what_is_not_there_is_an_error(signed: S3Server) -> None:
    for path, message in {
            "s3://bucket/nothing": "cannot open 's3://bucket/nothing': there is no such file: NoSuchKey",
            "s3://buckets/x": "cannot open 's3://buckets/x': there is no such file: NoSuchBucket",
            "s3://bucket/none/*": "no file matches 's3://bucket/none/*'",
            "s3://buckets/none/*": "cannot list 's3://buckets/none/': there is no such bucket",
            "s3://bucket/a/../b": "keys with the parts `.` and `..` cannot be asked for",
            "s3://a b/c": "'a b' is no name of a bucket"}.items():
        with pytest.raises(fb.Error, match=re.escape(message)):
            fb.lines(path).record("line").batch(1).load()


def test_a_wrong_secret_is_an_error_that_does_not_show_it(server: S3Server) -> None:
    path = server.put("x", b"x\n")
    fb.add_file_system("s3", fb.S3Files(endpoint=server.endpoint, credentials=lambda: {"access_key": server.key, "secret_key": SECRET}))
    with pytest.raises(fb.Error, match=r"it may not be read: the server answered 403 .*SignatureDoesNotMatch .*, signed with the key "
                                       rf"{server.key[:4]}…{server.key[-4:]} of the program") as raised:
        fb.lines(path).record("line").batch(1).load()
    assert SECRET not in str(raised.value)
    fb.add_file_system("s3", fb.S3Files(endpoint=server.endpoint, anonymous=True))
    with pytest.raises(fb.Error, match="not signed"):
        fb.lines(path).record("line").batch(1).load()
    fb.add_file_system("s3", fb.S3Files())


def test_the_command_reads_them_without_python(server: S3Server, parts: "list[pathlib.Path]", tmp_path: pathlib.Path) -> None:
    path = server.put("data/part-0", parts[0].read_bytes())
    command = COMMAND
    env = {"PATH": "/nowhere", "HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": server.key, "AWS_SECRET_ACCESS_KEY": server.secret,
           "AWS_ENDPOINT_URL_S3": server.endpoint}
    done = subprocess.run([command, "verify", path], capture_output=True, text=True, env=env)
    assert "40 intact records" in done.stdout, done.stderr
    env["AWS_SECRET_ACCESS_KEY"] = SECRET
    done = subprocess.run([command, "head", path], capture_output=True, text=True, env=env)
    assert done.returncode != 0 and "SignatureDoesNotMatch" in done.stderr and SECRET not in done.stdout + done.stderr
    del env["AWS_SECRET_ACCESS_KEY"]
    done = subprocess.run([command, "head", path], capture_output=True, text=True, env={**env, "AWS_EC2_METADATA_DISABLED": "true"})
    assert re.search("no credentials for s3 were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; the profile \"default\" does not "
                     "exist; this is no container .*; the machine is not asked .*say `anonymous`", done.stderr), done.stderr


def signer_of(asked: Asked) -> "tuple[str, str]":
    """The key and the region of a signature."""
    found = re.search(r"Credential=([^/]+)/\d+/([^/]+)/s3/aws4_request", asked.headers.get("authorization", ""))
    return (found[1], found[2]) if found else ("", "")


def read_one(web: Web, files: "fb.S3Files") -> "set[tuple[str, str]]":
    """Who has signed the requests for a file."""
    fb.add_file_system("s3", files)
    web.put("/bucket/x", b"one\n")
    with fb.lines(["s3://bucket/x"]).record("line").batch(1).load() as loader:
        shown = repr(loader) + json.dumps(loader.state_dict())
        assert next(loader)["line"].tolist() == [b"one"]
    assert SECRET not in shown
    return {signer_of(asked) for asked in web.asked if asked.path.startswith("/bucket/")}


def test_credentials_are_found_where_aws_has_them(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(f"[default]\naws_access_key_id = OFDEFAULT\naws_secret_access_key={SECRET}\n\n"
                                                   f"[other] # one more\naws_access_key_id=OFOTHER\naws_secret_access_key = {SECRET}\n")
    (tmp_path / ".aws" / "config").write_text("[default]\nregion = eu-south-9\ns3 =\n  region = no\n[profile other]\nregion=ap-west-7\n"
                                              f"endpoint_url = {web.url}\n")
    assert read_one(web, fb.S3Files(endpoint=web.url)) == {("OFDEFAULT", "eu-south-9")}
    web.asked.clear()
    assert read_one(web, fb.S3Files(profile="other")) == {("OFOTHER", "ap-west-7")}
    web.asked.clear()
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert read_one(web, fb.S3Files()) == {("OFOTHER", "ap-west-7")}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OFENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t0ken")
    monkeypatch.setenv("AWS_REGION", "us-2")
    web.asked.clear()
    assert read_one(web, fb.S3Files()) == {("OFENVIRONMENT", "us-2")}
    assert {asked.headers.get("x-amz-security-token") for asked in web.asked} == {"t0ken"}


def test_credentials_of_a_container_and_of_a_machine(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    def answer(key: str) -> bytes:
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        return json.dumps({"AccessKeyId": key, "SecretAccessKey": SECRET, "Token": "t", "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()

    def serve(asked: Asked) -> Any:
        if asked.path == "/container":
            return says(200, text=answer("OFCONTAINER")) if asked.headers.get("authorization") == "pass" else says(403)
        if asked.path == "/latest/api/token":
            return says(200, text=b"imds") if asked.method == "PUT" else says(405)
        if asked.path.startswith("/latest/meta-data/") and asked.headers.get("x-aws-ec2-metadata-token") != "imds":
            return says(401)
        if asked.path == "/latest/meta-data/iam/security-credentials/":
            return says(200, text=b"role")
        if asked.path == "/latest/meta-data/iam/security-credentials/role":
            return says(200, text=answer("OFMACHINE"))
        return None

    web.fault = serve
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", web.url)
    assert {key for key, _ in read_one(web, fb.S3Files(endpoint=web.url))} == {"OFMACHINE"}
    web.asked.clear()
    (tmp_path / "token").write_text("pass\n")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", web.url + "/container")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    assert {key for key, _ in read_one(web, fb.S3Files(endpoint=web.url))} == {"OFCONTAINER"}


def test_a_machine_without_a_metadata_service_is_told_in_three_seconds(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.fault = lambda asked: web.silent
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", web.url)
    fb.add_file_system("s3", fb.S3Files(endpoint=web.url))
    began = time.monotonic()
    with pytest.raises(fb.ConfigError, match=f"no credentials for s3 were found: .*{web.url}/latest/api/token does not answer"):
        fb.lines(["s3://bucket/x"]).record("line").batch(1).load()
    assert time.monotonic() - began < 30    # ten times what it may take


def test_expired_credentials_are_asked_for_anew(web: Web) -> None:
    given: "list[str]" = []

    def credentials() -> "dict[str, Any]":
        given.append(f"KEY{len(given)}")
        return {"access_key": given[-1], "secret_key": SECRET, "expires": time.time() + 3600}

    refused = []

    def serve(asked: Asked) -> Any:
        if asked.method == "GET" and signer_of(asked)[0] == "KEY0":
            refused.append(asked)
            return says(400, text=b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
        return None

    web.fault = serve
    signers = read_one(web, fb.S3Files(endpoint=web.url, credentials=credentials))
    assert {key for key, _ in signers} == {"KEY0", "KEY1"} and given == ["KEY0", "KEY1"] and refused


def test_credentials_are_asked_for_before_they_expire(web: Web) -> None:
    given: "list[str]" = []

    def credentials() -> "dict[str, Any]":
        given.append(f"KEY{len(given)}")
        return {"access_key": given[-1], "secret_key": SECRET, "expires": time.time() + (60 if len(given) == 1 else 3600)}

    files = fb.S3Files(endpoint=web.url, credentials=credentials)
    began = time.monotonic()
    while {key for key, _ in read_one(web, files)} != {"KEY1"}:     # they hold for a minute more, in which others come
        assert time.monotonic() - began < 60
        web.asked.clear()
    assert given == ["KEY0", "KEY1"]


def test_a_bucket_of_another_region_is_asked_there(web: Web) -> None:
    def serve(asked: Asked) -> Any:
        return None if signer_of(asked)[1] == "eu-north-1" else says(301, {"x-amz-bucket-region": "eu-north-1"})

    web.fault = serve
    files = fb.S3Files(endpoint=web.url, credentials=lambda: {"access_key": "KEY", "secret_key": SECRET})
    assert read_one(web, files) == {("KEY", "us-east-1"), ("KEY", "eu-north-1")}
    web.asked.clear()
    assert read_one(web, files) == {("KEY", "eu-north-1")}


def test_requests_say_who_pays(web: Web) -> None:
    read_one(web, fb.S3Files(endpoint=web.url, anonymous=True, requester_pays=True))
    assert {asked.headers.get("x-amz-request-payer") for asked in web.asked} == {"requester"}
    assert not any("authorization" in asked.headers for asked in web.asked)


@pytest.mark.parametrize(("page", "message"), [
    (b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>", "the same page of the list again"),
    (b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "is not the last page and names no next one"),
    (b"<html>hello</html>", "it is no ListBucketResult"),
    (b"<ListBucketResult><Contents>", "the list of the bucket cannot be read"),
    (b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><ListBucketResult>&b;</ListBucketResult>", "it has a document type"),
    (b"<ListBucketResult><Contents><Key>a%2</Key></Contents></ListBucketResult>", "has a broken escape"),
    (b"<a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a>", "nested too deeply")])
def test_lists_that_make_no_sense_are_errors(web: Web, page: bytes, message: str) -> None:
    web.fault = lambda asked: says(200, text=page)
    fb.add_file_system("s3", fb.S3Files(endpoint=web.url, anonymous=True))
    with pytest.raises(fb.Error, match=f"cannot list 's3://bucket/x/': .*{message}"):
        fb.lines("s3://bucket/x/*").record("line").batch(1).load()


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(fb.ConfigError, match="S3Files reads s3, found 'https'"):
        fb.add_file_system("https", fb.S3Files())
    with pytest.raises(fb.ConfigError, match="the function gives no `secret_key`"):
        fb.add_file_system("s3", fb.S3Files(credentials=lambda: {"access_key": "A"}))
        fb.lines(["s3://bucket/x"]).record("line").batch(1).load()
    fb.add_file_system("s3", fb.S3Files())


def test_a_program_may_end_while_credentials_are_looked_for() -> None:
    code = """
import threading, time
import forebay as fb
asked = threading.Event()
def slow():
    asked.set()
    time.sleep(1)
    return {"access_key": "KEY", "secret_key": "secret"}
fb.add_file_system("s3", fb.S3Files(endpoint="http://127.0.0.1:9", credentials=slow))
threading.Thread(target=lambda: fb.lines(["s3://bucket/x"]).record("line").batch(1).load(), daemon=True).start()
asked.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr and "terminate" not in done.stderr
