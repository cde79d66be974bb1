// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stores/http/host.h"
#include "stores/http/library.h"
#include "stores/http/queue.h"

namespace forebay::stores::http {

/// One exchange with a server for a job. Used by one thread.
class Attempt {
 public:
  /// `hedge`: beside another one for the same job, in memory of its own.
  Attempt(const Library& library, const Manner& manner, std::shared_ptr<Job> job, bool hedge, Clock::time_point now);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  [[nodiscard]] CURL* handle() const { return handle_; }
  [[nodiscard]] const std::shared_ptr<Job>& job() const { return job_; }
  [[nodiscard]] bool is_hedge() const { return hedge_; }
  [[nodiscard]] Clock::time_point began() const { return began_; }
  [[nodiscard]] const std::optional<Clock::time_point>& first_byte() const { return first_byte_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Bytes that came since the last call, of any body.
  [[nodiscard]] std::size_t take_traffic() { return std::exchange(traffic_, 0); }
  [[nodiscard]] Came came(CURLcode code);
  /// Puts the bytes of a hedge where those of the call belong.
  void put() const;

 private:
  static std::size_t on_head(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;
  [[nodiscard]] bool take(std::span<const char> bytes);
  template <class T>
  void set(CURLoption option, T value);
  void set_up(const Manner& manner);

  const Library& library_;
  const std::shared_ptr<Job> job_;
  const bool hedge_;
  const Clock::time_point began_;
  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  Reply reply_;
  std::optional<bool> takes_;  // the body; decided by its first byte
  std::vector<std::byte> own_;
  std::span<std::byte> out_;
  std::string refusal_;
  std::size_t bytes_ = 0, refused_ = 0, traffic_ = 0;
  std::optional<Clock::time_point> first_byte_;
  std::array<char, CURL_ERROR_SIZE> problem_{};
};

}  // namespace forebay::stores::http
