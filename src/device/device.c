/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

vp__device *vp__devices[VP__MAX_DEVICES];
int vp__device_count;

bool vp__device_add(vp__device *device) {
    if (vp__device_count == VP__MAX_DEVICES) return false;
    device->index = vp__device_count;
    vp__devices[vp__device_count++] = device;
    return true;
}
