// SPDX-License-Identifier: Apache-2.0
// The main job in C++: opens a document, sums one tensor, tells the end from an error.
// Run it from the root of the repository: build/release/examples/first_batch
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include <forebay/forebay.h>

int main(int count, char** words) {
  const std::string document = count > 1 ? words[1] : "examples/taxi/loader.json";
  auto pipeline = forebay::open(document, {.threads = 2});
  if (!pipeline.ok()) {
    std::fprintf(stderr, "%s\n", pipeline.error().text().c_str());
    return 2;
  }
  double miles = 0;
  std::int64_t rows = 0;
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok()) {
      std::fprintf(stderr, "%s\n", batch.error().text().c_str());
      return 3;
    }
    if (!*batch) break;  // the end, and only that
    const std::span<const float> values = (*batch)->tensor("miles").as<float>();
    for (const float value : values) miles += value;
    rows += (*batch)->rows();
  }
  std::printf("%lld trips, %.2f miles on average\n", static_cast<long long>(rows), miles / static_cast<double>(rows));
  std::printf("%s\n", pipeline->stats().text().c_str());
  return 0;
}
