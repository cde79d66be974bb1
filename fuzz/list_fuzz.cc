// SPDX-License-Identifier: Apache-2.0
// Lists and refusals of object stores: any text is an error, or names of files.
#include "fuzz/check.h"
#include "stores/services/list_page.h"
#include "stores/services/metadata.h"

using forebay::fuzz::check;
using namespace forebay::stores::http;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = forebay::fuzz::text_of(data, size);
  const auto page = ListPage::of(text);
  if (!page.ok()) check(!page.error().text().empty(), "a refusal says why");
  const ServiceError error = ServiceError::of(text);
  check(error.message.size() <= 300 && error.region.size() <= 64, "what a server says is short");
  const auto credentials = credentials_of_json(text, "a service");
  if (credentials.ok()) check(!credentials->key.empty() && !credentials->secret.empty(), "credentials have keys");
  return 0;
}
