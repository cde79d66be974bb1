// SPDX-License-Identifier: Apache-2.0
#include "sources/source_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/file.h"
#include "io/paths.h"
#include "io/patterns.h"

namespace forebay::sources {

Result<std::vector<std::string>> source_files(const Paths& files, const BindContext& context) {
  if (files.empty()) return Error{Code::config, Detail::invalid_argument, "names no file"}.at(Field{"files"});
  std::vector<std::string> out;
  if (std::ranges::all_of(files, io::is_plain_name)) {
    out.reserve(files.size());
    for (const std::string& name : files) out.push_back(io::resolve(name, context.folder));
    return out;
  }
  std::vector<Error> faults;
  io::FolderLists lists;
  auto each = io::expand_each(files, context.folder, context.lists ? *context.lists : lists);
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (!each[i].ok()) {
      faults.push_back(each[i].error().at(Field{"files", std::to_string(i)}));
      continue;
    }
    for (ListedFile& file : *each[i]) {
      if (file.version && context.listed) context.listed(file);
      out.push_back(std::move(file.path));
    }
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return out;
}

Result<std::shared_ptr<const io::RandomAccessFile>> open_to_plan(const std::string& path, const BindContext& context) {
  if (context.open) return context.open(path);
  FOREBAY_TRY(io::File file, io::File::open(path));
  return std::shared_ptr<const io::RandomAccessFile>{std::make_shared<io::File>(std::move(file))};
}

}  // namespace forebay::sources
