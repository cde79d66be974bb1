// SPDX-License-Identifier: Apache-2.0
#include "stores/http/library.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <fmt/core.h>

#include "stores/forever.h"

namespace forebay::stores::http {

namespace {

constexpr unsigned oldest = 0x074400;  // 7.68: the first whose waiting threads can be woken

/// Null: a function is missing.
template <class F>
bool find(void* file, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(file, name));
  return out != nullptr;
}

bool find_all(void* file, Library& out) {
  return find(file, "curl_global_init", out.global_init) && find(file, "curl_version_info", out.version_info) &&
         find(file, "curl_easy_init", out.easy_init) && find(file, "curl_easy_cleanup", out.easy_cleanup) &&
         find(file, "curl_easy_reset", out.easy_reset) && find(file, "curl_easy_setopt", out.easy_setopt) &&
         find(file, "curl_easy_perform", out.easy_perform) && find(file, "curl_easy_getinfo", out.easy_getinfo) &&
         find(file, "curl_easy_strerror", out.easy_strerror) && find(file, "curl_multi_init", out.multi_init) &&
         find(file, "curl_multi_cleanup", out.multi_cleanup) && find(file, "curl_multi_setopt", out.multi_setopt) &&
         find(file, "curl_multi_add_handle", out.multi_add_handle) &&
         find(file, "curl_multi_remove_handle", out.multi_remove_handle) &&
         find(file, "curl_multi_perform", out.multi_perform) && find(file, "curl_multi_poll", out.multi_poll) &&
         find(file, "curl_multi_wakeup", out.multi_wakeup) && find(file, "curl_multi_info_read", out.multi_info_read) &&
         find(file, "curl_slist_append", out.slist_append) && find(file, "curl_slist_free_all", out.slist_free_all) &&
         find(file, "curl_url", out.url) && find(file, "curl_url_cleanup", out.url_cleanup) &&
         find(file, "curl_url_set", out.url_set) && find(file, "curl_url_get", out.url_get) &&
         find(file, "curl_free", out.free);
}

Error unusable(const std::string& what) {
  return {
      Code::config, Detail::invalid_argument,
      fmt::format("http and https need libcurl 7.68 or newer, and {}; install the package libcurl4 of the system, or "
                  "`pip install pycurl`",
                  what)};
}

/// The library stays loaded: its threads and exit handlers may run until the process ends.
Result<std::unique_ptr<const Library>> load(const std::string& path) {
  const std::vector<std::string> names =
      path.empty() ? std::vector<std::string>{"libcurl.so.4", "libcurl-gnutls.so.4"} : std::vector<std::string>{path};
  std::string why = "there is none";
  for (const std::string& name : names) {
    void* const file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      if (!path.empty()) why = fmt::format("'{}' cannot be loaded", path);
      continue;
    }
    auto out = std::make_unique<Library>();
    if (!find_all(file, *out) || out->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      why = fmt::format("'{}' is older", name);
      continue;
    }
    const curl_version_info_data* const about = out->version_info(CURLVERSION_NOW);
    out->version = about->version;
    if (about->version_num < oldest) {
      why = fmt::format("'{}' is {}", name, out->version);
      continue;
    }
    if (about->age >= CURLVERSION_SEVENTH && about->cainfo != nullptr) out->ca_file = about->cainfo;
    return std::unique_ptr<const Library>{std::move(out)};
  }
  return unusable(why);
}

struct Loaded {
  std::mutex mutex;
  std::unique_ptr<const Library> library;
};

}  // namespace

Result<const Library*> library(const std::string& path) {
  static Forever<Loaded> loaded;
  const std::lock_guard lock{(*loaded).mutex};
  if (!(*loaded).library) {
    FOREBAY_TRY((*loaded).library, load(path));
  }
  return (*loaded).library.get();
}

}  // namespace forebay::stores::http
