// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/open_file.h"

#include <utility>

#include "engine/memory/catch_all.h"
#include "engine/requests/requested_file.h"
#include "io/file.h"
#include "stores/registry.h"
#include "stores/waits.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t memory_to_find = std::int64_t{1} << 20;   // bytes: only versions are asked for
constexpr std::int64_t memory_to_look = std::int64_t{16} << 20;  // bytes that are asked for ahead
constexpr std::int64_t requests_to_find = 4 * usual_requests;    // they have no bytes

}  // namespace

Result<std::unique_ptr<RequestedFile>> open_requested(FileSystem& system, const std::string& path,
                                                      const std::shared_ptr<Requests>& requests) {
  const auto found = requests->find(system, path);
  requests->wait(*found);
  if (found->error()) return found->error()->at(Place{.file = path});
  auto target =
      std::make_shared<RequestTarget>(RequestTarget{.system = &system, .path = path, .version = found->version()});
  return std::make_unique<RequestedFile>(requests, std::move(target));
}

Result<std::unique_ptr<io::RandomAccessFile>> open_file(const std::string& path,
                                                        const std::shared_ptr<Requests>& requests) {
  FileSystem* const system = stores::file_system_of(path);
  if (system == nullptr) {
    FOREBAY_TRY(io::File file, io::File::open(path));
    return std::unique_ptr<io::RandomAccessFile>{std::make_unique<io::File>(std::move(file))};
  }
  FOREBAY_TRY(auto file, open_requested(*system, path, requests));
  return std::unique_ptr<io::RandomAccessFile>{std::move(file)};
}

Result<std::unique_ptr<io::RandomAccessFile>> open_file(const std::string& path,
                                                        const std::shared_ptr<KnownVersions>& known) {
  const auto requests = std::make_shared<Requests>(std::make_shared<BufferPool>(memory_to_look));
  requests->know(known);
  return open_file(path, requests);
}

std::vector<Result<io::RandomAccessFile::Identity>> find_files(std::span<const std::string> paths,
                                                               const std::function<bool()>& go_on,
                                                               const std::shared_ptr<KnownVersions>& known) {
  const auto requests = std::make_shared<Requests>(std::make_shared<BufferPool>(memory_to_find), requests_to_find);
  requests->ask_whether(go_on ? go_on : stores::goes_on);
  requests->know(known);
  std::vector<std::shared_ptr<Request>> asked;
  for (const std::string& path : paths) asked.push_back(requests->find(*stores::file_system_of(path), path));
  std::vector<Result<io::RandomAccessFile::Identity>> out;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      requests->wait(*asked[i]);
    } catch (const Closed&) {
      out.resize(paths.size(), Error{Code::cancelled, "interrupted"});
      return out;
    }
    if (asked[i]->error()) {
      out.emplace_back(asked[i]->error()->at(Place{.file = paths[i]}));
    } else {
      out.emplace_back(asked[i]->version());
    }
  }
  return out;
}

}  // namespace forebay::engine
