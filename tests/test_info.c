/* SPDX-License-Identifier: Apache-2.0
 *
 * What `vproc info` says of a device beside the cores. The command itself has none yet;
 * tests/command/ looks at all the rest.
 */
#include <string.h>

#include "cli/cli.h"
#include "tests/fake_device.h"
#include "tests/harness.h"

/* What the command writes; valid until the next call. */
static const char *shown(int argc, char **argv) {
    vp__test_capture_begin();
    int status = vp__cli_info(argc, argv);
    const char *text = vp__test_capture_end();
    VP_CHECK_EQ(status, 0);
    return text;
}

VP_TEST(a_device_is_listed_after_the_cores) {
    fake_properties p = {.latency_ns = 5000, .ns_per_byte = 0.25, .slowness = 0.5};
    fake_device_add(&p, 1);
    const char *cores = strstr(shown(0, NULL), "\ndevice 0     cores: ");
    VP_CHECK(cores != NULL);
    VP_CHECK_CONTAINS(cores, "\ndevice 1     fake: kernels take 0.5 of a core's time and "
                             "begin after 5000 ns, copies take 0.25 ns a byte\n");
    char json[] = "--json", *arguments[] = {json};
    VP_CHECK_CONTAINS(shown(1, arguments),
                      ", {\"name\": \"fake\", \"slowness\": 0.5, "
                      "\"latency_ns\": 5000, \"ns_per_byte\": 0.25}], ");
}
