// SPDX-License-Identifier: Apache-2.0
// Writes a small record file, describes a pipeline in C++, runs it twice over the data and prints the mean.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <forebay/forebay.h>

namespace {

int report(const forebay::Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 1;
}

std::vector<std::string> squares(std::int64_t count) {
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < count; ++i) records.push_back(forebay::encode_example({{"square", std::vector{i * i}}}));
  return records;
}

}  // namespace

int main() {
  const std::string path = "squares.tfrecord";
  if (const auto written = forebay::write_records(path, squares(1000)); !written.ok()) return report(written.error());

  const auto pipeline = forebay::from(forebay::TfRecord{.files = {path}})
                            .decode(forebay::ExampleFeatures{
                                .features = {{"square", forebay::FixedLenFeature{.dtype = forebay::DType::int64}}}})
                            .then(forebay::Shuffle{.buffer = 100})
                            .then(forebay::FixedBatch{.size = 64})
                            .then(forebay::Cast{.tensor = "square", .dtype = forebay::DType::float64})
                            .epochs(2)
                            .seed(7);
  auto loader = pipeline.load({.threads = 2});
  if (!loader.ok()) return report(loader.error());

  double sum = 0;
  std::int64_t rows = 0;
  for (const forebay::Batch& batch : loader->batches()) {
    for (const double square : batch.tensor("square").as<double>()) sum += square;
    rows += batch.rows();
  }
  if (const auto status = loader->status(); !status.ok()) return report(status.error());
  std::printf("%lld rows, mean %.1f\n", static_cast<long long>(rows), sum / static_cast<double>(rows));
  return 0;
}
