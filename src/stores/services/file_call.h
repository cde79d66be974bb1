// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <forebay/file_system.h>

#include "stores/http/address.h"
#include "stores/http/call.h"
#include "stores/services/service.h"

namespace forebay::stores::http {

/// What servers have said to tell a version of a file by. Thread-safe.
class Versions {
 public:
  void remember(const std::string& path, const std::string& etag, const std::string& last_modified);
  /// The header that lets a server refuse the bytes of another version. Empty: there is none.
  [[nodiscard]] std::string condition(const std::string& path, std::uint64_t version);

 private:
  struct Told {
    std::uint64_t version = 0;
    std::string condition;
  };
  std::mutex mutex_;
  std::map<std::string, Told, std::less<>> told_;
};

/// What the calls of a file system have in common.
struct Means {
  Means(const Library& loaded, std::shared_ptr<Service> kind, Manners how)
      : library{loaded}, service{std::move(kind)}, manners{std::move(how)} {}
  const Library& library;
  const std::shared_ptr<Service> service;
  const Manners manners;
  Versions versions;
};

/// Fails with Code::config when an address may not be read: http:// of another machine.
[[nodiscard]] Result<void> check_allowed(const Address& address, const Manners& manners);

/// A request for one file.
class FileCall : public Call {
 public:
  FileCall(std::shared_ptr<Means> means, std::string path, Address address);
  [[nodiscard]] const std::string& host() const final { return address_.origin; }
  [[nodiscard]] Ask ask() const final;
  [[nodiscard]] Step next(const Came& came) final;

 protected:
  /// Of an answer that is no fault of the server: 2xx, 412 or 416.
  [[nodiscard]] virtual Step judge(const Came& came) = 0;
  /// Of bytes that came before the connection broke. False: they do not help.
  [[nodiscard]] virtual bool keep([[maybe_unused]] const Came& came) { return false; }
  /// Whether the request itself may be the reason of a refusal; it is then asked in another way.
  [[nodiscard]] virtual bool asks_otherwise() { return false; }
  [[nodiscard]] virtual Error gone() const = 0;
  virtual void complete(Ask& ask) const = 0;  ///< The method, the range and the conditions.
  [[nodiscard]] Answered failed(Code code, Detail detail, std::string_view what);
  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] Means& means() const { return *means_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// An encoding that changes the bytes. Files with the end .gz may come with the name of their own compression.
  [[nodiscard]] bool is_recoded(const Reply& reply) const;
  [[nodiscard]] virtual std::string attempt() const = 0;  ///< Such as "open 's3://bucket/name'".

 private:
  [[nodiscard]] Step redirected(const Came& came);
  [[nodiscard]] Step broken(const Came& came);
  [[nodiscard]] bool away() const { return address_.origin != home_; }
  [[nodiscard]] std::optional<Step> refused(const Came& came, std::string& said);
  [[nodiscard]] Error about(Code code, Detail detail, std::string_view what) const;

  const std::shared_ptr<Means> means_;
  const std::string path_;
  Address address_;
  std::string home_;  // the origin of the service itself
  int redirects_ = 0, anew_ = 0;
};

/// Asks for the size and the version of a file, and for its first bytes where there is room for some.
class FindCall final : public FileCall {
 public:
  FindCall(std::shared_ptr<Means> means, Address address, ReadRequest request, FileSystem::Begun begun);
  [[nodiscard]] std::span<std::byte> out() const override { return request_.out; }
  [[nodiscard]] bool takes_body(const Reply& reply) const override;
  void fail(const Error& error) override { begun_(error); }
  [[nodiscard]] bool wanted() const override { return request_.out.empty() || !request_.wanted.expired(); }
  [[nodiscard]] Traffic* traffic() const override { return request_.traffic.get(); }

 private:
  [[nodiscard]] Step judge(const Came& came) override;
  [[nodiscard]] bool asks_otherwise() override;
  [[nodiscard]] Error gone() const override;
  void complete(Ask& ask) const override;
  [[nodiscard]] std::string attempt() const override { return "open '" + path() + "'"; }

  const ReadRequest request_;
  const FileSystem::Begun begun_;
  bool head_;  // and else GET, of the first byte at least
};

/// Asks for bytes of one version of a file.
class ReadCall final : public FileCall {
 public:
  ReadCall(std::shared_ptr<Means> means, Address address, ReadRequest request, FileSystem::Answer answer);
  [[nodiscard]] std::span<std::byte> out() const override;
  [[nodiscard]] bool takes_body(const Reply& reply) const override {
    return !is_other_version(reply) && wrong_with(reply).empty();
  }
  void fail(const Error& error) override { answer_(error); }
  [[nodiscard]] bool wanted() const override { return !request_.wanted.expired(); }
  [[nodiscard]] Traffic* traffic() const override { return request_.traffic.get(); }

 private:
  [[nodiscard]] Step judge(const Came& came) override;
  [[nodiscard]] bool keep(const Came& came) override;
  [[nodiscard]] Error gone() const override;
  void complete(Ask& ask) const override;
  [[nodiscard]] std::string attempt() const override { return "read '" + path() + "'"; }
  /// Why the body is not what was asked for. Empty: it is.
  [[nodiscard]] std::string wrong_with(const Reply& reply) const;
  [[nodiscard]] bool is_other_version(const Reply& reply) const;

  const ReadRequest request_;
  const FileSystem::Answer answer_;
  const std::int64_t last_;
};

}  // namespace forebay::stores::http
