// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <curl/curl.h>
#include <forebay/error.h>
#include <forebay/traffic.h>

#include "stores/http/reply.h"

namespace forebay::stores::http {

/// What is sent to a server.
struct Ask {
  std::string url;
  bool head = false;                   ///< HEAD and not GET.
  std::int64_t first = -1, last = -1;  ///< The range of bytes. -1: the whole file.
  std::vector<std::string> headers;    ///< "Name: value".
  std::string user, password;          ///< Empty: none.
  std::string sign;  ///< "aws:amz:REGION:s3": they are a key and its secret. Empty: they are sent as they are.
};

/// What came of it.
struct Came {
  CURLcode code = CURLE_OK;
  std::string problem;  ///< What libcurl says of `code`.
  Reply reply;
  std::size_t bytes = 0;  ///< Of the body, in the memory of the call.
  bool whole = false;     ///< The body is complete, or fills that memory.
  std::string location;   ///< Where to ask instead. Empty: nowhere.
  std::string refusal;    ///< The beginning of a body that is no part of the file.
};

/// The next step after an answer.
struct Answered {};  ///< The call is over.
struct AtOnce {};    ///< It is asked again, elsewhere or in another way.
struct Later {       ///< It is tried again, or fails with `error`, which says why.
  Error error;
  Traffic::Trouble trouble = Traffic::Trouble::failed;
  std::int64_t after = -1;  ///< Seconds, as the server says. -1: as usual.
  bool slower = false;      ///< The server asks for fewer requests.
};
using Step = std::variant<Answered, AtOnce, Later>;

/// One request, which may be tried several times. Its functions are called by one thread at a time; `fail`, and `next`
/// where it gives Answered, answer it.
class Call {
 public:
  virtual ~Call() = default;
  [[nodiscard]] virtual const std::string& host() const = 0;  ///< With its scheme and port.
  [[nodiscard]] virtual Ask ask() const = 0;
  [[nodiscard]] virtual std::span<std::byte> out() const = 0;           ///< For the body.
  [[nodiscard]] virtual bool takes_body(const Reply& reply) const = 0;  ///< False: it is no part of the file.
  [[nodiscard]] virtual Step next(const Came& came) = 0;
  virtual void fail(const Error& error) = 0;
  [[nodiscard]] virtual bool wanted() const = 0;
  [[nodiscard]] virtual Traffic* traffic() const { return nullptr; }  ///< Where it is counted. Null: nowhere.
};

}  // namespace forebay::stores::http
