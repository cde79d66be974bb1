// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <forebay/error.h>
#include <forebay/file_system.h>
#include <forebay/http_files.h>

namespace forebay {

/// What a request to S3 is signed with.
struct S3Credentials {
  std::string key, secret;
  std::string token;   ///< Of a session. Empty: none.
  std::string source;  ///< Where they were found, for messages: "the environment".
  std::optional<std::chrono::sys_seconds> expires = {};
};
/// Looks for credentials; an error says why there are none. It may wait.
using S3CredentialsSource = std::function<Result<S3Credentials>()>;

/// How files of S3, and of stores that speak its language, are read.
struct S3Options {
  HttpOptions http = {};
  std::string
      endpoint;         ///< Address of another store. Empty: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, the profile, AWS.
  std::string region;   ///< Empty: $AWS_REGION, $AWS_DEFAULT_REGION, the profile. Buckets say their own.
  std::string profile;  ///< Empty: $AWS_PROFILE, else "default".
  bool anonymous = false;                ///< Public data: nothing is signed. $AWS_NO_SIGN_REQUEST=YES says the same.
  bool requester_pays = false;           ///< Accepts the costs. $AWS_REQUEST_PAYER=requester says the same.
  S3CredentialsSource credentials = {};  ///< In place of all others.
  S3CredentialsSource other_credentials = {};  ///< Where environment, profile and container have none.
};

/// The files of S3, read by libcurl, which signs the requests; `add_file_system` names it. Without other credentials,
/// these are those of the environment, of a profile with keys, of the container, or of the machine (IMDSv2), in this
/// order. They are asked for anew five minutes before they expire.
///
/// Fails with Code::config when an option is wrong and when there is no libcurl of 7.75 or newer.
[[nodiscard]] Result<std::shared_ptr<FileSystem>> s3_files(const S3Options& options = {});

}  // namespace forebay
