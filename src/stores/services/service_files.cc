// SPDX-License-Identifier: Apache-2.0
#include "stores/services/service_files.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "stores/services/list_call.h"
#include "stores/services/profile.h"

namespace forebay::stores::http {

namespace {

bool exists(const std::string& path) {
  struct stat about {};
  return !path.empty() && stat(path.c_str(), &about) == 0;
}

/// Where the certificates of the system are: a library that was built for another system looks elsewhere.
std::string ca_file_of(const Library& library) {
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

Error wrong(std::string_view option, const std::string& what) {
  return {Code::config, Detail::invalid_argument, fmt::format("{}: {}", option, what)};
}

}  // namespace

Result<Manners> manners_of(const HttpOptions& options, const Library& library) {
  Manners manners{.allow_http = options.allow_http,
                  .connections = options.connections,
                  .deadline = options.deadline.count(),
                  .ca_file = options.ca_file};
  if (manners.connections < 1 || manners.connections > 256)
    return wrong("connections", fmt::format("expected 1 to 256, found {}", manners.connections));
  if (manners.deadline < 1 || manners.deadline > 86'400)
    return wrong("deadline", fmt::format("expected 1 to 86400 seconds, found {}", manners.deadline));
  if (!manners.ca_file.empty() && !exists(manners.ca_file))
    return wrong("ca_file", fmt::format("there is no file '{}'", manners.ca_file));
  if (manners.ca_file.empty()) manners.ca_file = ca_file_of(library);
  return manners;
}

ServiceFiles::Mine::Mine(const Library& library, const std::shared_ptr<Service>& service, const Manners& manners)
    : means{std::make_shared<Means>(library, service, manners)},
      transfers{library,
                {.connections = manners.connections,
                 .deadline = std::chrono::seconds{manners.deadline},
                 .ca_file = manners.ca_file}} {}

ServiceFiles::ServiceFiles(const Library& library, std::shared_ptr<Service> service, Manners manners)
    : library_{library}, service_{std::move(service)}, manners_{std::move(manners)} {}

ServiceFiles::Mine& ServiceFiles::this_process() {
  return mine_.get([this] { return std::make_unique<Mine>(library_, service_, manners_); });
}

Result<Address> ServiceFiles::allowed(const std::string& path) const {
  FOREBAY_TRY(Address address, service_->address(path));
  if (const auto well = check_allowed(address, manners_); !well.ok()) return well.error();
  return address;
}

/// When the service knows how to sign it.
void ServiceFiles::begin(std::unique_ptr<Call> call) {
  Transfers& transfers = this_process().transfers;
  const auto shared = std::make_shared<std::unique_ptr<Call>>(std::move(call));
  service_->when_ready([shared, &transfers] { transfers.begin(std::move(*shared)); },
                       [shared](const Error& error) { (*shared)->fail(error); });
}

void ServiceFiles::find(const std::string& path, Found found) {
  find_and_read({.path = path}, [found = std::move(found)](const Result<FileBeginning>& begun) {
    if (!begun.ok()) return found(begun.error());
    found(begun->version);
  });
}

void ServiceFiles::find_and_read(ReadRequest request, Begun begun) {
  auto address = allowed(request.path);
  if (!address.ok()) return begun(address.error());
  begin(std::make_unique<FindCall>(this_process().means, *std::move(address), std::move(request), std::move(begun)));
}

void ServiceFiles::read(ReadRequest request, Answer answer) {
  auto address = allowed(request.path);
  if (!address.ok()) return answer(address.error());
  begin(std::make_unique<ReadCall>(this_process().means, *std::move(address), std::move(request), std::move(answer)));
}

void ServiceFiles::list(const std::string& folder, bool deep, Listed listed) {
  if (!lists()) return FileSystem::list(folder, deep, std::move(listed));
  auto address = allowed(folder.substr(0, folder.find('/', folder.find("://") + 3) + 1));  // of the bucket
  if (!address.ok()) return listed(address.error());
  begin(std::make_unique<ListCall>(this_process().means, folder, *std::move(address), deep, std::move(listed)));
}

}  // namespace forebay::stores::http
