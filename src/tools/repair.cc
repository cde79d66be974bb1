// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/paths.h"
#include "tools/verify_files.h"

namespace forebay::engine {
namespace {

using Inode = std::pair<dev_t, ino_t>;

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// The path of the copy of each file. A folder for several copies is created if it is missing.
Result<std::vector<std::string>> targets_of(const std::vector<std::string>& files, const std::string& out) {
  const auto status = status_of(out);
  const bool folder = status && S_ISDIR(status->st_mode);
  if (files.size() == 1 && !folder) return std::vector{out};
  if (status && !folder) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("'{}' must be a folder, because there are {} files to write", out, files.size())};
  }
  if (!status && ::mkdir(out.c_str(), 0777) != 0) return io::system_error("make the folder", out, errno);
  std::vector<std::string> targets;
  for (const std::string& file : files) targets.push_back(io::resolve(io::base_name(file), out));
  return targets;
}

Result<void> check_targets(const std::vector<std::string>& files, const std::vector<std::string>& targets,
                           RepairOptions::Existing existing) {
  std::set<Inode> read;
  for (const std::string& file : files) {
    if (const auto status = status_of(file)) read.emplace(status->st_dev, status->st_ino);
  }
  std::vector<Error> faults;
  const auto fault = [&](std::string message) {
    faults.emplace_back(Code::config, Detail::invalid_argument, std::move(message));
  };
  std::map<std::string, std::string> taken;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string& target = targets[i];
    const auto [other, fresh] = taken.emplace(target, files[i]);
    const auto status = status_of(target);
    if (!fresh) {
      fault(fmt::format("'{}' and '{}' would both be written to '{}'", other->second, files[i], target));
    } else if (status && read.contains({status->st_dev, status->st_ino})) {
      fault(fmt::format("'{}' is one of the files that are read; write to another place", target));
    } else if (status && !S_ISREG(status->st_mode)) {
      fault(fmt::format("'{}' exists and is not a regular file", target));
    } else if (status && existing == RepairOptions::Existing::refuse) {
      fault(fmt::format("'{}' exists already; use --force to replace it", target));
    }
  }
  return faults.empty() ? Result<void>{} : Error::all(std::move(faults));
}

}  // namespace
}  // namespace forebay::engine

namespace forebay {

Result<std::vector<FileReport>> repair(const std::vector<std::string>& paths, const std::string& out,
                                       const RepairOptions& repair, const VerifyOptions& options) {
  FOREBAY_TRY(Source source, engine::source_of(paths, options));
  FOREBAY_TRY(std::vector<std::string> targets, engine::targets_of(source.files, out));
  FOREBAY_DO(engine::check_targets(source.files, targets, repair.existing));
  return engine::look_through(std::move(source), options, {std::move(targets), repair.compression});
}

}  // namespace forebay
