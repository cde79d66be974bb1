# SPDX-License-Identifier: Apache-2.0
"""moto, a server that speaks the language of S3 and checks signatures, in a process of its own."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

import botocore.session


PAGE = 10    # names in one page of a list


class S3Server:
    """A bucket named `bucket`, and a user who may do everything in it."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        unchecked = 4    # requests before signatures are checked: those that make the user
        self._server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(unchecked), "MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE)})
        self._wait()
        iam = self._client("iam", "anybody", "anything")
        iam.create_user(UserName="reader")
        made = iam.create_access_key(UserName="reader")["AccessKey"]
        allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        policy = iam.create_policy(PolicyName="all", PolicyDocument=json.dumps(allowed))["Policy"]["Arn"]
        iam.attach_user_policy(UserName="reader", PolicyArn=policy)
        self.key, self.secret = made["AccessKeyId"], made["SecretAccessKey"]
        self.s3 = self._client("s3", self.key, self.secret)
        self.s3.create_bucket(Bucket="bucket")

    def _wait(self) -> None:
        began = time.monotonic()
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self._server.poll() is not None or time.monotonic() - began > 120:
                    raise AssertionError("moto does not start: pip install 'moto[s3]' flask flask-cors") from None
                time.sleep(.05)

    def _client(self, service: str, key: str, secret: str) -> "Any":
        return botocore.session.Session().create_client(
            service, endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret)

    def put(self, key: str, data: bytes) -> str:
        self.s3.put_object(Bucket="bucket", Key=key, Body=data)
        return f"s3://bucket/{key}"

    def close(self) -> None:
        self._server.kill()
        self._server.wait()
