// SPDX-License-Identifier: Apache-2.0
#include "stores/services/list_call.h"

#include <utility>

#include <fmt/core.h>

#include "stores/http/reply.h"
#include "stores/services/list_page.h"

namespace forebay::stores::http {

namespace {

constexpr std::size_t page_bytes = std::size_t{8} << 20;  // a thousand names of a thousand bytes, each byte escaped
constexpr int max_pages = 10'000;

/// The end of "s3://bucket/".
std::size_t bucket_end(const std::string& folder) { return folder.find('/', folder.find("://") + 3) + 1; }

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view keep) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  std::string out;
  for (const char letter : text) {
    if (plain.find(letter) != std::string_view::npos || keep.find(letter) != std::string_view::npos) {
      out += letter;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
  }
  return out;
}

ListCall::ListCall(std::shared_ptr<Means> means, std::string folder, Address address, bool deep,
                   FileSystem::Listed listed)
    : FileCall{std::move(means), folder.substr(0, bucket_end(folder)), std::move(address)},
      listed_{std::move(listed)},
      prefix_{folder.substr(bucket_end(folder))},
      deep_{deep},
      page_{std::make_unique<std::vector<std::byte>>(page_bytes)} {}

/// The parameters are sorted: older versions of libcurl sign them as they are.
void ListCall::complete(Ask& ask) const {
  std::string query;
  if (!token_.empty()) query += "continuation-token=" + percent_encoded(token_) + "&";
  if (!deep_) query += "delimiter=%2F&";
  query += "encoding-type=url&list-type=2&prefix=" + percent_encoded(prefix_);
  ask.url += "?" + query;
}

Error ListCall::gone() const {
  return {Code::io, Detail::not_found, fmt::format("cannot {}: there is no such bucket", attempt())};
}

Step ListCall::judge(const Came& came) {
  const std::string_view xml{reinterpret_cast<const char*>(page_->data()), came.bytes};
  if (came.reply.status() != 200 || !came.whole || came.bytes == page_bytes)
    return failed(Code::io, Detail::none, "the server gives no list");
  auto page = ListPage::of(xml);
  if (!page.ok()) return failed(Code::io, Detail::none, page.error().message());
  for (const ListPage::File& file : page->files) {
    if (file.key.ends_with('/') || !file.key.starts_with(prefix_)) continue;  // marks a folder
    ListedFile& listed = files_.emplace_back(ListedFile{.path = path() + file.key, .version = {}});
    if (file.etag.empty() || file.size < 0) continue;
    listed.version = {.size = file.size, .version = version_of(file.etag)};
    means().versions.remember(listed.path, file.etag, {});
  }
  if (page->next.empty()) {
    listed_(std::move(files_));
    return Answered{};
  }
  if (page->next == token_) return failed(Code::io, Detail::none, "the server gives the same page of the list again");
  if (++pages_ == max_pages)
    return failed(
        Code::config, Detail::resource_exhausted,
        fmt::format("it has more than {} pages of names; name the files in a list, or a smaller folder", max_pages));
  token_ = page->next;
  return AtOnce{};
}

}  // namespace forebay::stores::http
