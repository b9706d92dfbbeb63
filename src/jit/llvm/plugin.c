/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler plug-in on LLVM's C API. The IR is written vectorised already, so that code
 * generation alone makes good code of it, without passes, in a few milliseconds.
 */
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "jit/llvm/emit.h"

/* A process may exit while a thread of it compiles, and must not wait for that; so nothing
 * here may be taken down at exit. C++ registers its static destructors through this
 * function: LLVM's, linked into this module, find this one and not the system's. */
__attribute__((visibility("hidden"))) int __cxa_atexit(void (*destroy)(void *), void *of,
                                                       void *module);
int __cxa_atexit(void (*destroy)(void *), void *of, void *module) {
    (void)destroy, (void)of, (void)module;
    return 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

/* The machine of the last compile: it has the tables of its CPU, which take a millisecond to
 * make. NULL while a compile has it, so that the child of a fork makes its own. */
static LLVMTargetMachineRef kept;

static bool is_same(char *text, const char *other) {
    const bool same = strcmp(text, other) == 0;
    LLVMDisposeMessage(text);
    return same;
}

static bool is_for(LLVMTargetMachineRef machine, const vp__machine *t) {
    return is_same(LLVMGetTargetMachineTriple(machine), t->triple) &&
           is_same(LLVMGetTargetMachineCPU(machine), t->cpu) &&
           is_same(LLVMGetTargetMachineFeatureString(machine), t->features);
}

static LLVMTargetMachineRef take_machine(const vp__machine *t, char **message) {
    pthread_once(&once, init);
    LLVMTargetMachineRef last = kept;
    kept = NULL;
    if (last && is_for(last, t)) return last;
    if (last) LLVMDisposeTargetMachine(last);
    LLVMTargetRef target;
    char *wrong = NULL;
    if (LLVMGetTargetFromTriple(t->triple, &target, &wrong)) {
        *message = strdup(wrong);
        LLVMDisposeMessage(wrong);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, t->triple, t->cpu, t->features,
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
}

/* What this emitter cannot do with a kernel, or NULL. */
static const char *why_not(const vp__emitter *e) {
    const int kind = e->loops->kind;
    if (e->legs > 1 && (kind == VP__LOOPS_COLS || kind == VP__LOOPS_STATE))
        return "columns do not wait for base kernels";
    if (vp__legs_bytes(e) > VP__EMIT_STACK)
        return "its calls of base kernels need too much of the stack";
    return NULL;
}

static LLVMMemoryBufferRef generate(const vp__ir *ir, const vp__loops *loops,
                                    const vp__facts *facts, const vp__machine *target,
                                    LLVMCodeGenFileType type, char **message) {
    *message = NULL;
    LLVMTargetMachineRef machine = take_machine(target, message);
    if (!machine) return NULL;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("vproc", context);
    LLVMSetTarget(module, target->triple);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, data);
    LLVMMemoryBufferRef buffer = NULL;
    vp__emitter e = {.ir = ir,
                     .loops = loops,
                     .facts = facts,
                     .target = target,
                     .context = context,
                     .module = module,
                     .builder = LLVMCreateBuilderInContext(context)};
    const bool ready = vp__legs_init(&e);
    const char *beyond = !ready ? "out of memory" : why_not(&e);
    if (!beyond) vp__emit_kernel(&e);
    char *wrong = NULL;
    if (beyond)
        *message = strdup(beyond);
    else if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &wrong, &buffer))
        *message = strdup(wrong);
    if (wrong) LLVMDisposeMessage(wrong);
    vp__legs_deinit(&e);
    LLVMDisposeBuilder(e.builder);
    LLVMDisposeTargetData(data);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    kept = machine;
    return buffer;
}

static void *compile(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                     const vp__machine *target, size_t *bytes, char **message) {
    LLVMMemoryBufferRef buffer =
        generate(ir, loops, facts, target, LLVMObjectFile, message);
    if (!buffer) return NULL;
    *bytes = LLVMGetBufferSize(buffer);
    void *object = malloc(*bytes);
    if (object) memcpy(object, LLVMGetBufferStart(buffer), *bytes);
    LLVMDisposeMemoryBuffer(buffer);
    return object;
}

static char *assembly(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                      const vp__machine *target, char **message) {
    LLVMMemoryBufferRef buffer =
        generate(ir, loops, facts, target, LLVMAssemblyFile, message);
    if (!buffer) return NULL;
    char *text = strndup(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return text;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* The one symbol. */
__attribute__((visibility("default"))) const vp__plugin *vp_plugin(int version);

const vp__plugin *vp_plugin(int version) {
    static const vp__plugin self = {
        .version = "LLVM " VP_LLVM_VERSION,
        .compile = compile,
        .release = free,
        .assembly = assembly,
    };
    return version == VP__PLUGIN_VERSION ? &self : NULL;
}
