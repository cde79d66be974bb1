// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that a training program needs: documents in, batches out. Plug-in authors include <forebay/plugin.h>.
#include <forebay/batch.h>
#include <forebay/index.h>
#include <forebay/loader.h>
#include <forebay/pipeline.h>
#include <forebay/plan.h>
#include <forebay/records.h>
#include <forebay/shuffle_quality.h>
#include <forebay/verify.h>
