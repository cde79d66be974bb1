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

/// Requests for the store and for the catalogue of each folder, by its path.
struct AskedFolders {
  struct Folder {
    std::shared_ptr<Request> indexes, catalogue;
  };
  std::shared_ptr<Requests> requests;
  std::map<std::string, Folder> folders = {};
};

/// Indexes that lie with data of another machine, so that nobody has to read the data to make them
/// (docs/formats/index.md). In the folder of the files:
///
///     .forebay/index-v1       the store; up to 64 MiB, and without a catalogue, it is fetched whole
///     .forebay/catalogue-v1   says where in the store the entries of each file are: these alone are asked for
///
/// Both are asked for at once, so that there are two round trips at most before the first range of the data, and one
/// where the store is small.
/// Any thread may call.
class PublishedIndexes {
 public:
  /// Begins to ask for what is published in the folders of these files that nobody has asked for.
  [[nodiscard]] AskedFolders ask(std::span<const IndexRequest> files, const AskingForIndexes& asking) EXCLUDES(mutex_);
  /// Puts what is published of these files into their stores, as if it had been made here. The requests are of files of
  /// other machines, with identity and stores. An index is taken when it is of the present version of its file. When
  /// the version is another one, as that of a copy in another place is, the file must have the same size and the same 4
  /// KiB at both ends, and a format whose records have checksums. What is left out is made by those who need it; a line
  /// for people says why, unless nothing is published.
  void take(std::span<const IndexRequest> files, const AskingForIndexes& asking, AskedFolders asked) EXCLUDES(mutex_);

 private:
  /// What is published in one folder.
  struct Folder {
    std::optional<IndexStore> store;  ///< Fetched whole.
    std::optional<Catalogue> catalogue;
    RequestTarget indexes;  ///< With a catalogue: the store that it is of.
  };
  class Taking;
  void ask_missing(std::span<const IndexRequest> files, const AskingForIndexes& asking, AskedFolders& asked) const
      REQUIRES(mutex_);
  [[nodiscard]] Folder& folder_of(const IndexRequest& file, const AskedFolders& asked, const AskingForIndexes& asking)
      REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, Folder> folders_ GUARDED_BY(mutex_);  // by path
};

/// Begins to ask for what is published in the folders of those of the files that are of other machines, where this
/// machine has no index of the folder. Their versions need not be known.
[[nodiscard]] AskedFolders ask_published(std::span<const IndexRequest> files, const AskingForIndexes& asking);
/// Calls PublishedIndexes::take for those of the files that are of other machines and of whose present version their
/// stores lack an entry of `keys`.
void take_published(std::span<const IndexRequest> files, std::span<const EntryKey> keys, const AskingForIndexes& asking,
                    AskedFolders asked);

}  // namespace forebay::engine
