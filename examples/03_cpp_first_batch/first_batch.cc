// SPDX-License-Identifier: Apache-2.0
// The main job in C++: loads a document, sums one tensor, tells the end from an error.
// Run it from the root of the repository: build/release/examples/first_batch
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include <forebay/forebay.h>

int main(int count, char** words) {
  const std::string document = count > 1 ? words[1] : "examples/taxi/loader.json";
  auto loader = forebay::load(document, {.threads = 2});
  if (!loader.ok()) {
    std::fprintf(stderr, "%s\n", loader.error().text().c_str());
    return 2;
  }
  double miles = 0;
  std::int64_t rows = 0;
  for (const forebay::Batch& batch : loader->batches()) {  // ends at the end of the run or at an error …
    const std::span<const float> values = batch.tensor("miles").as<float>();
    for (const float value : values) miles += value;
    rows += batch.rows();
  }
  if (const auto status = loader->status(); !status.ok()) {  // … and this says which
    std::fprintf(stderr, "%s\n", status.error().text().c_str());
    return 3;
  }
  std::printf("%lld trips, %.2f miles on average\n", static_cast<long long>(rows), miles / static_cast<double>(rows));
  std::printf("%s\n", loader->stats().text().c_str());
  return 0;
}
