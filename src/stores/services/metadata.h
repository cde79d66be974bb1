// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/s3_files.h>

#include "stores/http/library.h"

namespace forebay::stores::http {

/// The credentials of the container: $AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or $AWS_CONTAINER_CREDENTIALS_FULL_URI
/// with the token of $AWS_CONTAINER_AUTHORIZATION_TOKEN(_FILE). Waits for three seconds at most.
[[nodiscard]] Result<S3Credentials> of_container(const Library& library);
/// Those of the machine, by version 2 of its metadata service (IMDSv2), unless $AWS_EC2_METADATA_DISABLED is "true".
/// Waits for three seconds at most.
[[nodiscard]] Result<S3Credentials> of_machine(const Library& library);

/// The token of the service account of a machine of Google Cloud, by its metadata service ($GCE_METADATA_HOST), unless
/// $NO_GCE_CHECK is "true". Waits for a second at most.
[[nodiscard]] Result<S3Credentials> of_google_machine(const Library& library);

/// Credentials as services write them: a JSON object with AccessKeyId, SecretAccessKey, Token and Expiration.
[[nodiscard]] Result<S3Credentials> credentials_of_json(std::string_view text, std::string source);

}  // namespace forebay::stores::http
