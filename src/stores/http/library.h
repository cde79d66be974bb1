// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#define CURL_DISABLE_DEPRECATION  // older libraries have the older options alone
#include <curl/curl.h>
#include <forebay/error.h>

/// Files of http and https.
namespace forebay::stores::http {

/// The functions of libcurl that are used. It is loaded when the first address is read, and not linked: wheels then
/// need no TLS library of their own, which would have to be released anew for each of its faults.
struct Library {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_version_info) version_info = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_multi_setopt) multi_setopt = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_perform) multi_perform = nullptr;
  decltype(&curl_multi_poll) multi_poll = nullptr;
  decltype(&curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  decltype(&curl_url) url = nullptr;
  decltype(&curl_url_cleanup) url_cleanup = nullptr;
  decltype(&curl_url_set) url_set = nullptr;
  decltype(&curl_url_get) url_get = nullptr;
  decltype(&curl_free) free = nullptr;

  std::string version;  ///< Such as "7.88.1".
  std::string ca_file;  ///< Certificates that it trusts unless told otherwise, where it was built to have some.
};

/// Loads the file `path`, or libcurl of the system when `path` is empty. Loaded once: later calls give the same library
/// whatever their path. Fails with Code::config when there is none, or an older one than 7.68.
[[nodiscard]] Result<const Library*> library(const std::string& path);

}  // namespace forebay::stores::http
