// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/file_system.h>

namespace forebay {

/// How files of http and https are read.
struct HttpOptions {
  /// Reads http:// from other machines, too. Without TLS, anyone on the way can read the bytes and change them.
  bool allow_http = false;
  std::int64_t connections = 32;       ///< To one host at once, at most: 1 to 256.
  std::chrono::seconds deadline{180};  ///< A request that gets no byte for so long is an error: 1 to 86,400.
  std::vector<std::string> headers;    ///< Sent to the host of an address, and not to one that it redirects to.
  std::string ca_file;  ///< Certificates to trust. Empty: $SSL_CERT_FILE, $CURL_CA_BUNDLE, or those of the system.
  std::string library;  ///< The file of libcurl. Empty: the system's. The first call of a process decides.
};

/// The files of http and https, read by libcurl; `add_file_system` names it. Paths of http and https that have no
/// reader are read so, with these options as they are and `allow_http` where the environment has FOREBAY_ALLOW_HTTP=1.
///
/// Requests are tried again, ranges that take unusually long are asked for a second time, and every answer is checked
/// to be the range that was asked for, of the version that was found. A process that was forked has threads and
/// connections of its own.
///
/// Fails with Code::config when an option is wrong and when there is no libcurl.
[[nodiscard]] Result<std::shared_ptr<FileSystem>> http_files(const HttpOptions& options = {});

/// Ends the threads of this process that read http, https and s3, and waits for them: requests fail, later ones, too.
/// It happens by itself at the exit of the process; a program whose functions find credentials, and need what goes
/// before that, calls it earlier.
void stop_http();

}  // namespace forebay
