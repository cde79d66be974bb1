// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_file.h"
#include "engine/index/scan_file.h"

namespace forebay::engine {

Result<std::shared_ptr<const RecordIndex>> build_index(const IndexRequest& request, const IndexWatch& watch) {
  const Source source{.files = {request.file},
                      .compression = request.compression,
                      .format = request.format,
                      .max_decompressed_bytes = request.max_decompressed_bytes};
  PassCache kept{0};
  FileReader scanner{source, 0, pool_of(request), kept};
  return scan_index(request, scanner, watch, [](const Block& block, RecordIndexBuilder& builder) {
    builder.add(block.records, block.file_offset);
  });
}

}  // namespace forebay::engine
