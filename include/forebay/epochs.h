// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include <forebay/batch.h>

namespace forebay {

class Epochs;
class Loader;

/// The batches of a run, or of one epoch, for one range-based `for`. The loop ends at the end or at an error;
/// `Loader::status` has the error. A batch is valid in its turn of the loop; copy it to keep it. The loader must not be
/// moved during the loop. One thread uses the object.
class Batches {
 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Batches* of = nullptr) : of_{of} {}
    Batch& operator*() const { return *of_->batch_; }
    Batch* operator->() const { return &*of_->batch_; }
    Iterator& operator++() {
      of_->advance();
      return *this;
    }
    void operator++(int) { of_->advance(); }
    bool operator==(std::default_sentinel_t) const { return !of_->batch_; }

   private:
    Batches* of_;
  };

  /// Takes the first batch, so a loop calls it once.
  [[nodiscard]] Iterator begin() {
    advance();
    return Iterator{this};
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  friend class Epoch;
  friend class Loader;
  explicit Batches(Loader& loader, Epochs* epochs = nullptr) : loader_{&loader}, epochs_{epochs} {}
  void advance();

  Loader* loader_;
  Epochs* epochs_;  // null: all batches of the run
  std::optional<Batch> batch_;
};

/// One epoch of a run: the batches whose first row that is not empty is of this epoch. After a restart inside an epoch
/// the first one is its rest. May be without batches: with `straddle`, an epoch shorter than a batch.
class Epoch : public Batches {
 public:
  [[nodiscard]] std::int64_t number() const { return number_; }  ///< From 0.

 private:
  friend class Epochs;
  Epoch(Loader& loader, Epochs& epochs, std::int64_t number) : Batches{loader, &epochs}, number_{number} {}
  std::int64_t number_;
};

/// The epochs of a run for one range-based `for`; each is valid in its turn of the loop. Going on before an epoch is
/// used up goes past its other batches, which are not decoded unless that was done ahead. The loop ends after the last
/// epoch or at an error. The loader must not be moved during the loop. One thread uses the object.
class Epochs {
 public:
  class Iterator {
   public:
    using value_type = Epoch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Epochs* of = nullptr) : of_{of} {}
    Epoch& operator*() const { return *of_->epoch_; }
    Epoch* operator->() const { return &*of_->epoch_; }
    Iterator& operator++() {
      of_->advance();
      return *this;
    }
    void operator++(int) { of_->advance(); }
    bool operator==(std::default_sentinel_t) const { return !of_->epoch_; }

   private:
    Epochs* of_;
  };

  /// Goes to the first epoch, so a loop calls it once.
  [[nodiscard]] Iterator begin() {
    advance();
    return Iterator{this};
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  // The same for loops of another kind. Like `Loader::next_within`: after `timeout`, `timed_out` is true.
  /// Goes to the next epoch and returns its number; nothing after the last one. Fails as `Loader::next` does.
  [[nodiscard]] Result<std::optional<std::int64_t>> next_within(std::chrono::milliseconds timeout, bool& timed_out);
  /// The next batch of epoch `number`, not taken yet (`Loader::take`); nothing at its end, and when the loader is in
  /// another epoch. Fails as `Loader::next` does.
  [[nodiscard]] Result<std::optional<Batch>> peek_within(std::int64_t number, std::chrono::milliseconds timeout,
                                                         bool& timed_out);

 private:
  friend class Loader;
  explicit Epochs(Loader& loader) : loader_{&loader} {}
  [[nodiscard]] Result<std::optional<std::int64_t>> present(std::chrono::milliseconds timeout, bool& timed_out);
  void advance();

  Loader* loader_;
  std::optional<std::int64_t> number_;  // of the epoch that was given last
  bool ended_ = false;                  // the run gave its last batch
  std::optional<Epoch> epoch_;
};

}  // namespace forebay
