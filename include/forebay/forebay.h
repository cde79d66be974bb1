// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that a training program needs: documents in, batches out. Authors of plug-ins include
/// <forebay/plugin.h>.
#include <forebay/audio.h>
#include <forebay/batch.h>
#include <forebay/convert.h>
#include <forebay/convert_records.h>
#include <forebay/count.h>
#include <forebay/decode.h>
#include <forebay/feed.h>
#include <forebay/files.h>
#include <forebay/image.h>
#include <forebay/index.h>
#include <forebay/infer.h>
#include <forebay/inspect.h>
#include <forebay/loader.h>
#include <forebay/output_file.h>
#include <forebay/pipeline.h>
#include <forebay/plan.h>
#include <forebay/plugins.h>
#include <forebay/queue.h>
#include <forebay/record_reader.h>
#include <forebay/records.h>
#include <forebay/reference.h>
#include <forebay/row_passes.h>
#include <forebay/rows.h>
#include <forebay/run_options.h>
#include <forebay/shuffle_quality.h>
#include <forebay/staging.h>
#include <forebay/stall_notice.h>
#include <forebay/state.h>
#include <forebay/state_saver.h>
#include <forebay/verify.h>
