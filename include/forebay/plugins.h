// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The options of every plug-in. Written by tools/make_plugins_header.py from src/plugins.def.
#include <forebay/batchers/batch.h>
#include <forebay/combine/concat.h>
#include <forebay/combine/join.h>
#include <forebay/combine/mix.h>
#include <forebay/combine/round_robin.h>
#include <forebay/combine/zip.h>
#include <forebay/decoders/example.h>
#include <forebay/decoders/record.h>
#include <forebay/decoders/sequence_example.h>
#include <forebay/orders/filter.h>
#include <forebay/orders/interleave.h>
#include <forebay/orders/repeat.h>
#include <forebay/orders/shuffle.h>
#include <forebay/orders/skip.h>
#include <forebay/orders/take.h>
#include <forebay/sources/arrays.h>
#include <forebay/sources/feed.h>
#include <forebay/sources/fixed_length.h>
#include <forebay/sources/lines.h>
#include <forebay/sources/tfrecord.h>
#include <forebay/sources/whole_file.h>
#include <forebay/steps/cast.h>
#include <forebay/steps/constant.h>
#include <forebay/steps/normalize.h>
#include <forebay/steps/one_hot.h>
#include <forebay/steps/ones.h>
#include <forebay/steps/rename.h>
#include <forebay/steps/reshape.h>
#include <forebay/steps/select.h>
#include <forebay/steps/slice.h>
