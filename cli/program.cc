// SPDX-License-Identifier: Apache-2.0
#include "command.h"

int main(int argc, char** argv) { return forebay_command(argc, argv); }
