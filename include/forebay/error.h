// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace forebay {

/// Says what has to change: the document or the arguments (config), the data (data), the machine (io) or the saved
/// state (state). `cancelled` follows a `close`; `internal` is a bug of Forebay or of a plug-in.
enum class Code : std::uint8_t { config, data, io, state, cancelled, internal };

/// The finer cause, for programs that branch on it.
enum class Detail : std::uint8_t {
  none,
  invalid_argument,
  data_loss,
  resource_exhausted,
  not_found,
  permission_denied,
  failed_precondition,
};

[[nodiscard]] std::string_view to_string(Code code);
[[nodiscard]] std::string_view to_string(Detail detail);

/// Where an error happened. Every part is optional; each layer fills in the parts that it knows.
struct Place {
  std::string file;          ///< Path of a data file or of a document.
  std::int64_t record = -1;  ///< Ordinal of the record in its file, from 0.
  std::int64_t offset = -1;  ///< Byte offset in the (uncompressed) file.
  std::string feature;       ///< Feature, tensor or column.
  std::string pointer;       ///< JSON pointer into the document, "/steps/0/slice".
  std::int64_t line = 0;     ///< Line in the document, or in a data file of text, from 1; 0: unknown.
  std::int32_t column = 0;   ///< Column in the document, from 1; 0: unknown, as in data files.
  std::int64_t row = -1;     ///< Row of the call that failed, set by plug-ins; the engine turns it into a record.
  /// The keys that lead from a plug-in's options to the option that the fault is about. Only `bind` sets them; its
  /// caller replaces them by pointer, line and column.
  std::vector<std::string> field = {};
};

/// Names an option in an error: `error.at(Field{"slice"})`, `error.at(Field{"files", "0"})`.
class Field {
 public:
  Field(std::initializer_list<std::string> path) : path_{path} {}
  [[nodiscard]] const std::vector<std::string>& path() const { return path_; }

 private:
  std::vector<std::string> path_;
};

/// One failure: what was found, what is allowed, where. Cheap to copy and immutable: `at` gives a copy.
class Error {
 public:
  Error(Code code, Detail detail, std::string message, Place place = {});
  Error(Code code, std::string message) : Error{code, Detail::none, std::move(message)} {}

  [[nodiscard]] Code code() const { return body_->code; }
  [[nodiscard]] Detail detail() const { return body_->detail; }
  [[nodiscard]] const std::string& message() const { return body_->message; }
  [[nodiscard]] const Place& place() const { return body_->place; }
  /// The single faults, if this error stands for several faults of a document; else empty.
  [[nodiscard]] const std::vector<Error>& faults() const { return body_->faults; }

  /// "file, record 3, byte 120, feature 'x': message", as `visible` shows it; with several faults one per line.
  [[nodiscard]] std::string text() const;

  /// A copy with more of the place filled in; what is already known stays.
  [[nodiscard]] Error at(const Place& place) const;
  /// A copy that names the option that the error is about. An error that names an option already keeps it.
  [[nodiscard]] Error at(const Field& field) const;
  /// A copy with the words "<where>: " before the message.
  [[nodiscard]] Error at(std::string_view where) const;

  /// One error that stands for all of `faults`, which must not be empty. Its code is that of the first config fault,
  /// which the author of the document can mend, else that of the first one.
  [[nodiscard]] static Error all(std::vector<Error> faults);

 private:
  struct Body {
    Code code;
    Detail detail;
    std::string message;
    Place place;
    std::vector<Error> faults;
  };
  std::shared_ptr<const Body> body_;
};

/// Prints a reason to standard error and ends the process. Called when the value of a failed Result, or the error of a
/// good one, is asked for.
[[noreturn]] void stop_misuse(const Error* found) noexcept;

/// A value or the error that prevented it. Ask ok() first: `*` and `->` of an error, and error() of a value, end the
/// process with a message on standard error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_{std::in_place_index<0>, std::move(value)} {}      // NOLINT: a value is a result
  Result(Error error) : state_{std::in_place_index<1>, std::move(error)} {}  // NOLINT
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
           !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, T>)
      Result(U&& value)
      : state_{std::in_place_index<0>, std::forward<U>(value)} {}  // NOLINT

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  T& operator*() & { return *require(); }
  const T& operator*() const& { return *require(); }
  T&& operator*() && { return std::move(*require()); }
  T* operator->() { return require(); }
  const T* operator->() const { return require(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) [[unlikely]]
      stop_misuse(nullptr);
    return *std::get_if<1>(&state_);
  }

  /// The same result; an error gets `where` added to it (Error::at).
  template <class Where>
  Result at(const Where& where) && {
    if (!ok()) return error().at(where);
    return std::move(*this);
  }

  /// The value, unchecked. For callers that have asked ok(), as FOREBAY_TRY does.
  [[nodiscard]] T&& take_unchecked() && { return std::move(*std::get_if<0>(&state_)); }

 private:
  T* require() {
    if (!ok()) [[unlikely]]
      stop_misuse(std::get_if<1>(&state_));
    return std::get_if<0>(&state_);
  }
  const T* require() const {
    if (!ok()) [[unlikely]]
      stop_misuse(std::get_if<1>(&state_));
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_{std::move(error)} {}  // NOLINT
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) [[unlikely]]
      stop_misuse(nullptr);
    return *error_;
  }
  template <class Where>
  Result at(const Where& where) && {
    if (!ok()) return error().at(where);
    return {};
  }

 private:
  std::optional<Error> error_;
};

#define FOREBAY_JOIN_2(a, b) a##b
#define FOREBAY_JOIN(a, b) FOREBAY_JOIN_2(a, b)

/// Initialises `declaration` with the value of a Result, or returns its error from the enclosing function.
#define FOREBAY_TRY(declaration, ...)                                                                        \
  auto FOREBAY_JOIN(forebay_result_, __LINE__) = (__VA_ARGS__);                                              \
  if (!FOREBAY_JOIN(forebay_result_, __LINE__).ok()) return FOREBAY_JOIN(forebay_result_, __LINE__).error(); \
  declaration = std::move(FOREBAY_JOIN(forebay_result_, __LINE__)).take_unchecked()

/// Returns the error of a Result<void> from the enclosing function, if there is one.
#define FOREBAY_DO(...)                                                                     \
  do {                                                                                      \
    if (auto forebay_done = (__VA_ARGS__); !forebay_done.ok()) return forebay_done.error(); \
  } while (false)

}  // namespace forebay
