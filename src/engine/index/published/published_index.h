// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/index/index_file.h"
#include "engine/index/index_store.h"
#include "engine/index/published/catalogue.h"
#include "engine/memory/sync.h"
#include "engine/requests/requests.h"

namespace forebay::engine {

/// How to ask other machines for what is published.
struct AskingForIndexes {
  std::shared_ptr<BufferPool> pool;
  std::function<bool()> go_on = {};           ///< Asked while a call waits: false ends it.
  std::shared_ptr<KnownVersions> known = {};  ///< Null: each call asks anew.
};

/// Indexes that lie with data of another machine, so that nobody has to read the data to make them
/// (docs/formats/index.md). In the folder of the files:
///
///     .forebay/catalogue-v1   says where in the store the entries of each file are: these alone are asked for
///     .forebay/index-v1       the store; without a catalogue it is fetched whole
///
/// Any thread may call.
class PublishedIndexes {
 public:
  /// Puts what is published of these files into their stores, as if it had been made here. The requests are of files of
  /// other machines, with identity and stores. An index is taken when it is of the present version of its file. When
  /// the version is another one, as that of a copy in another place is, the file must have the same size and the same 4
  /// KiB at both ends, and a format whose records have checksums. What is left out is made by those who need it; a line
  /// for people says why, unless nothing is published.
  void take(std::span<const IndexRequest> files, const AskingForIndexes& asking) EXCLUDES(mutex_);

 private:
  /// What is published in one folder.
  struct Folder {
    std::optional<IndexStore> store;  ///< Fetched whole.
    std::optional<Catalogue> catalogue;
    RequestTarget indexes;  ///< With a catalogue: the store that it is of.
  };
  class Taking;
  [[nodiscard]] Folder& folder_of(const IndexRequest& file, const std::shared_ptr<Requests>& requests,
                                  const AskingForIndexes& asking) REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, Folder> folders_ GUARDED_BY(mutex_);  // by path
};

/// Calls PublishedIndexes::take for those of the files that are of other machines and of whose present version their
/// stores lack an entry of `keys`.
void take_published(std::span<const IndexRequest> files, std::span<const EntryKey> keys,
                    const AskingForIndexes& asking);

}  // namespace forebay::engine
