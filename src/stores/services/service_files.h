// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <forebay/file_system.h>
#include <forebay/http_files.h>

#include "stores/http/per_process.h"
#include "stores/http/transfers.h"
#include "stores/services/file_call.h"

namespace forebay::stores::http {

/// The files of a service. None of its own threads may destroy it, and none may be in it then.
class ServiceFiles final : public FileSystem {
 public:
  ServiceFiles(const Library& library, std::shared_ptr<Service> service, Manners manners);

  void find(const std::string& path, Found found) override;
  void read(ReadRequest request, Answer answer) override;
  void find_and_read(ReadRequest request, Begun begun) override;
  [[nodiscard]] bool lists() const override { return service_->lists(); }
  void list(const std::string& folder, bool deep, Listed listed) override;

 private:
  /// Threads and connections, and what threads share.
  struct Mine {
    Mine(const Library& library, const std::shared_ptr<Service>& service, const Manners& manners);
    const std::shared_ptr<Means> means;
    Transfers transfers;
  };
  [[nodiscard]] Mine& this_process();
  [[nodiscard]] Result<Address> allowed(const std::string& path) const;
  void begin(std::unique_ptr<Call> call);

  const Library& library_;
  const std::shared_ptr<Service> service_;
  const Manners manners_;
  PerProcess<Mine> mine_;
};

/// The settings for all files, from the options. Where these name no certificates, the system's are used. Fails with
/// Code::config for an option with a wrong value.
[[nodiscard]] Result<Manners> manners_of(const HttpOptions& options, const Library& library);

}  // namespace forebay::stores::http
