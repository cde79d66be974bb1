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

/// An OAuth 2.0 access token, which a request to Google Cloud Storage shows.
struct GsToken {
  std::string token;
  std::string source;  ///< Where it was found, for messages: "the environment".
  std::optional<std::chrono::sys_seconds> expires = {};
};
/// Looks for a token; an error says why there is none. It may wait.
using GsTokenSource = std::function<Result<GsToken>()>;

/// How files of Google Cloud Storage are read.
struct GsOptions {
  HttpOptions http = {};
  std::string endpoint;            ///< Address of another server. Empty: $STORAGE_EMULATOR_HOST, or that of Google.
  std::string project;             ///< Pays for requests to buckets whose requesters pay. Empty: none.
  bool anonymous = false;          ///< Public data: no token is shown. Of an emulator, too.
  GsTokenSource token = {};        ///< In place of all others.
  GsTokenSource other_token = {};  ///< Where the environment has none, and before the machine is asked.
};

/// The files of Google Cloud Storage (`gs`), read by libcurl over the XML API; `add_file_system` names it.
/// Experimental: it was tried with a server of our tests alone. Without another token, it is that of
/// $GOOGLE_OAUTH_ACCESS_TOKEN or $CLOUDSDK_AUTH_ACCESS_TOKEN, or that of the machine. It is asked for anew five minutes
/// before it expires.
///
/// Fails with Code::config when an option is wrong and when there is no libcurl.
[[nodiscard]] Result<std::shared_ptr<FileSystem>> gs_files(const GsOptions& options = {});

}  // namespace forebay
