// SPDX-License-Identifier: Apache-2.0
#include <forebay/http_files.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stores/http/file_call.h"
#include "stores/http/library.h"
#include "stores/http/transfers.h"

namespace forebay {

namespace stores::http {

namespace {

bool exists(const std::string& path) {
  struct stat about {};
  return !path.empty() && stat(path.c_str(), &about) == 0;
}

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string{} : std::string{value};
}

/// Where the certificates of the system are: a library that was built for another system looks elsewhere.
std::string ca_file_of(const HttpOptions& options, const Library& library) {
  if (!options.ca_file.empty()) return options.ca_file;
  for (const char* const name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"})
    if (std::string path = from_environment(name); !path.empty()) return path;
  const std::array<std::string, 6> usual{library.ca_file,
                                         "/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/ca-bundle.pem",
                                         "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                         "/etc/ssl/cert.pem"};
  for (const std::string& path : usual)
    if (exists(path)) return path;
  return {};
}

class HttpFiles final : public FileSystem {
 public:
  HttpFiles(const Library& library, const HttpOptions& options)
      : library_{library}, options_{options}, ca_file_{ca_file_of(options, library)} {}

  /// No thread of its own may do that, and none may be in it.
  ~HttpFiles() override {
    Mine* const mine = mine_.load(std::memory_order_acquire);
    if (mine != nullptr && mine->process == getpid()) std::unique_ptr<Mine>{mine}.reset();
  }
  HttpFiles(const HttpFiles&) = delete;
  HttpFiles& operator=(const HttpFiles&) = delete;

  void find(const std::string& path, Found found) override {
    Mine& mine = this_process();
    auto address = allowed(path);
    if (!address.ok()) return found(address.error());
    mine.transfers.begin(std::make_unique<FindCall>(mine.means, path, *std::move(address), std::move(found)));
  }
  void read(ReadRequest request, Answer answer) override {
    Mine& mine = this_process();
    auto address = allowed(request.path);
    if (!address.ok()) return answer(address.error());
    mine.transfers.begin(
        std::make_unique<ReadCall>(mine.means, *std::move(address), std::move(request), std::move(answer)));
  }

 private:
  /// Threads and connections, and what threads share. A child after a fork leaves those of its parent alone.
  struct Mine {
    Mine(const Library& library, const HttpOptions& options, const std::string& ca_file)
        : means{std::make_shared<Means>(library, options, ca_file)},
          transfers{library, {.connections = options.connections, .deadline = options.deadline, .ca_file = ca_file}} {}
    const pid_t process = getpid();
    const std::shared_ptr<Means> means;
    Transfers transfers;
  };

  [[nodiscard]] Result<Address> allowed(const std::string& path) const {
    FOREBAY_TRY(Address address, Address::of(library_, address_of(path)));
    if (const auto well = check_allowed(address, options_); !well.ok()) return well.error();
    return address;
  }
  [[nodiscard]] Mine& this_process() {
    Mine* now = mine_.load(std::memory_order_acquire);
    if (now != nullptr && now->process == getpid()) return *now;
    auto made = std::make_unique<Mine>(library_, options_, ca_file_);
    if (mine_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *now;
  }

  const Library& library_;
  const HttpOptions options_;
  const std::string ca_file_;
  std::atomic<Mine*> mine_{nullptr};
};

Error wrong(std::string_view option, const std::string& what) {
  return {Code::config, Detail::invalid_argument, fmt::format("{}: {}", option, what)};
}

Result<void> check(const HttpOptions& options) {
  if (options.connections < 1 || options.connections > 256)
    return wrong("connections", fmt::format("expected 1 to 256, found {}", options.connections));
  if (options.deadline.count() < 1 || options.deadline.count() > 86'400)
    return wrong("deadline", fmt::format("expected 1 to 86400 seconds, found {}", options.deadline.count()));
  for (const std::string& header : options.headers) {
    const std::size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos || header.find_first_of("\r\n") != std::string::npos ||
        header.find('\0') != std::string::npos)
      return wrong("headers", "each is a name, a colon and a value in one line, such as \"Authorization: Bearer …\"");
  }
  if (!options.ca_file.empty() && !exists(options.ca_file))
    return wrong("ca_file", fmt::format("there is no file '{}'", options.ca_file));
  return {};
}

}  // namespace

}  // namespace stores::http

Result<std::shared_ptr<FileSystem>> http_files(const HttpOptions& options) {
  using namespace stores::http;
  if (const auto well = check(options); !well.ok()) return well.error();
  FOREBAY_TRY(const Library* const loaded, library(options.library));
  return std::make_shared<HttpFiles>(*loaded, options);
}

}  // namespace forebay
