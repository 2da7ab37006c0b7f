/*===- plugin.c - A PJRT plugin for tests -----------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Two devices in host memory. As real plugins do, it refuses structs that are
|* too short, and its events come from a thread of their own, late. What it is
|* to do wrong stands in the environment:
|*
|*   FAKE_PJRT_FAILS_RUN=N    the N-th run says so by its event
|*   FAKE_PJRT_FAILS_CALL=N   the N-th run fails when it is called
|*   FAKE_PJRT_REFUSES=OP     the compiler does not take this op
|*   FAKE_PJRT_MOST_OPS=N     nor more than so many ops at once
|*   FAKE_PJRT_CODE=N         absl's code of these failures
|*   FAKE_PJRT_NO_CLIENT=1    there is no client
|*   FAKE_PJRT_MAJOR=N        another version of PJRT
|*   FAKE_PJRT_NO_COPY=1      it does not copy between its devices
|*   FAKE_PJRT_REPORT=1       tells at exit how many buffers and executables are
|*                            left, how many copies there were between devices,
|*                            and with what options a client was made
|*
|* The options of a client are devices (1 or 2) and some of each type.
|*
\*===----------------------------------------------------------------------===*/
#include "options.h"
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANCELLED = 1, INVALID = 3, EXHAUSTED = 8, UNIMPLEMENTED = 12 };

typedef struct error {
  int code;
  char message[200];
} error;

typedef struct event {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int is_ready, owners;
  error *failed;
} event;

typedef struct buffer {
  atomic_int owners;
  shape shape;
  void *device;
  void *data;
} buffer;

typedef struct executable {
  program *code;
  int device;
} executable;

static atomic_int live_buffers, live_executables, copies;

static int setting(const char *name, int absent) {
  const char *value = getenv(name);
  return value ? atoi(value) : absent;
}

static error *fail(int code, const char *message) {
  error *made = calloc(1, sizeof(error));
  made->code = code;
  snprintf(made->message, sizeof(made->message), "%s", message);
  return made;
}

/* As PJRT's own check does. */
static error *check_size(const void *arguments, size_t needed,
                         const char *name) {
  size_t got;
  memcpy(&got, arguments, sizeof(got));
  if (got >= needed)
    return NULL;
  char message[200];
  snprintf(message, sizeof(message),
           "unexpected size of %s: expected %zu, got %zu", name, needed, got);
  return fail(INVALID, message);
}
#define CHECK(arguments)                                                       \
  do {                                                                         \
    error *wrong_ = check_size(arguments, sizeof(*(arguments)), __func__);     \
    if (wrong_)                                                                \
      return wrong_;                                                           \
  } while (0)

/* Each struct begins with its size and its extensions. */
#define ARGUMENTS(...)                                                         \
  struct {                                                                     \
    size_t size;                                                               \
    void *extensions;                                                          \
    __VA_ARGS__                                                                \
  }

typedef ARGUMENTS(error *of;) error_arguments;
typedef ARGUMENTS(error *of; const char *text; size_t length;) text_arguments;
typedef ARGUMENTS(error *of; int code;) code_arguments;
typedef ARGUMENTS(event *of;) event_arguments;

static void error_destroy(error_arguments *a) { free(a->of); }
static void error_message(text_arguments *a) {
  a->text = a->of->message;
  a->length = strlen(a->of->message);
}
static error *error_code(code_arguments *a) {
  CHECK(a);
  a->code = a->of->code;
  return NULL;
}

typedef ARGUMENTS(int none;) no_arguments;
static error *plugin_initialize(no_arguments *a) {
  (void)a;
  return NULL;
}

/* Owned by whoever awaits it and whoever makes it ready. */
static event *make_event(void) {
  event *made = calloc(1, sizeof(event));
  pthread_mutex_init(&made->mutex, NULL);
  pthread_cond_init(&made->changed, NULL);
  made->owners = 2;
  return made;
}

static void leave_event(event *one) {
  pthread_mutex_lock(&one->mutex);
  int left = --one->owners;
  pthread_mutex_unlock(&one->mutex);
  if (left)
    return;
  free(one->failed);
  free(one);
}

static void make_ready(event *one, error *failed) {
  pthread_mutex_lock(&one->mutex);
  one->is_ready = 1;
  one->failed = failed;
  pthread_cond_broadcast(&one->changed);
  pthread_mutex_unlock(&one->mutex);
  leave_event(one);
}

static event *ready_event(void) {
  event *made = make_event();
  make_ready(made, NULL);
  return made;
}

static error *event_destroy(event_arguments *a) {
  leave_event(a->of);
  return NULL;
}
static error *event_await(event_arguments *a) {
  CHECK(a);
  pthread_mutex_lock(&a->of->mutex);
  while (!a->of->is_ready)
    pthread_cond_wait(&a->of->changed, &a->of->mutex);
  error *failed = a->of->failed;
  pthread_mutex_unlock(&a->of->mutex);
  return failed ? fail(failed->code, failed->message) : NULL;
}

static int devices[2] = {0, 1}; /* their ids */
static void *device_list[2] = {&devices[0], &devices[1]};

typedef struct client {
  size_t devices;
} client;

typedef ARGUMENTS(const named_value *options; size_t option_count;
                  void *callbacks[4]; client * client;
                  void *more[4];) client_create_arguments;
static error *client_create(client_create_arguments *a) {
  CHECK(a);
  if (setting("FAKE_PJRT_NO_CLIENT", 0))
    return fail(14, "no board is plugged in");
  client *made = calloc(1, sizeof(client));
  made->devices = 2;
  for (size_t i = 0; i < a->option_count; ++i) {
    const char *wrong = take_option(&a->options[i], &made->devices);
    if (wrong) {
      free(made);
      return fail(INVALID, wrong);
    }
  }
  a->client = made;
  return NULL;
}
typedef ARGUMENTS(client *client;) client_arguments;
static error *client_destroy(client_arguments *a) {
  free(a->client);
  return NULL;
}

typedef ARGUMENTS(void *client; const char *text;
                  size_t length;) client_text_arguments;
static error *platform_name(client_text_arguments *a) {
  CHECK(a);
  a->text = "fake";
  a->length = 4;
  return NULL;
}
static error *platform_version(client_text_arguments *a) {
  CHECK(a);
  a->text = "fake 1:0";
  a->length = 8;
  return NULL;
}

typedef ARGUMENTS(client *client; void *const *devices;
                  size_t count;) devices_arguments;
static error *addressable_devices(devices_arguments *a) {
  CHECK(a);
  a->devices = device_list;
  a->count = a->client->devices;
  return NULL;
}

typedef ARGUMENTS(void *of; void *description;) description_arguments;
static error *device_description(description_arguments *a) {
  CHECK(a);
  a->description = a->of;
  return NULL;
}
typedef ARGUMENTS(void *of; int id;) id_arguments;
static error *description_id(id_arguments *a) {
  CHECK(a);
  a->id = *(int *)a->of;
  return NULL;
}

typedef ARGUMENTS(const char *code; size_t length; const char *format;
                  size_t format_length;) program_arguments;
typedef ARGUMENTS(void *client; const program_arguments *program;
                  const char *options; size_t options_length;
                  executable * made;) compile_arguments;
static error *compile(compile_arguments *a) {
  CHECK(a);
  if (a->program->format_length != 4 ||
      memcmp(a->program->format, "mlir", 4) != 0)
    return fail(INVALID, "the format is mlir");
  char why[160];
  int is_known = 0;
  program *code = program_compile(a->program->code, a->program->length, why,
                                  sizeof(why), &is_known);
  if (!code)
    return fail(is_known ? setting("FAKE_PJRT_CODE", UNIMPLEMENTED) : INVALID,
                why);
  a->made = calloc(1, sizeof(executable));
  a->made->code = code;
  /* The last byte of the options is the id in the device assignment. */
  a->made->device = a->options[a->options_length - 1];
  ++live_executables;
  return NULL;
}

typedef ARGUMENTS(executable *of;) executable_arguments;
static error *executable_destroy(executable_arguments *a) {
  program_free(a->of->code);
  free(a->of);
  --live_executables;
  return NULL;
}

static buffer *make_buffer(shape of, void *device) {
  buffer *made = calloc(1, sizeof(buffer));
  made->owners = 1;
  made->shape = of;
  made->device = device;
  made->data = malloc(shape_bytes(&of) + 1);
  ++live_buffers;
  return made;
}
static void leave_buffer(buffer *one) {
  if (--one->owners)
    return;
  free(one->data);
  free(one);
  --live_buffers;
}

typedef ARGUMENTS(buffer *of;) buffer_arguments;
static error *buffer_destroy(buffer_arguments *a) {
  leave_buffer(a->of);
  return NULL;
}

typedef ARGUMENTS(void *client; const void *data; int type; const int64_t *dims;
                  size_t rank; const int64_t *strides; size_t stride_count;
                  int semantics; void *device; void *memory; void *layout;
                  event * done; buffer * made;) upload_arguments;
static error *upload(upload_arguments *a) {
  CHECK(a);
  shape of = {.type = a->type, .rank = (int)a->rank};
  if (a->rank > MAX_RANK)
    return fail(UNIMPLEMENTED, "tensors of so many dimensions");
  for (size_t d = 0; d < a->rank; ++d)
    of.dims[d] = a->dims[d];
  a->made = make_buffer(of, a->device);
  memcpy(a->made->data, a->data, shape_bytes(&of));
  a->done = ready_event();
  return NULL;
}

typedef ARGUMENTS(buffer *from; void *layout; void *to; size_t length;
                  event * done;) download_arguments;
static error *download(download_arguments *a) {
  CHECK(a);
  size_t bytes = shape_bytes(&a->from->shape);
  if (a->length < bytes)
    return fail(INVALID, "there is no room for the tensor");
  memcpy(a->to, a->from->data, bytes);
  a->done = ready_event();
  return NULL;
}

typedef ARGUMENTS(buffer *of; void *device;
                  buffer * made;) device_copy_arguments;
static error *copy_to_device(device_copy_arguments *a) {
  CHECK(a);
  if (setting("FAKE_PJRT_NO_COPY", 0))
    return fail(UNIMPLEMENTED, "there is no way between the boards");
  if (a->of->device == a->device)
    return fail(INVALID, "the array is there already");
  a->made = make_buffer(a->of->shape, a->device);
  memcpy(a->made->data, a->of->data, shape_bytes(&a->of->shape));
  ++copies;
  return NULL;
}

typedef ARGUMENTS(buffer *of; event * ready;) ready_arguments;
static error *ready(ready_arguments *a) {
  CHECK(a);
  a->ready = ready_event();
  return NULL;
}

/* One run, on a thread of its own. */
typedef struct run {
  const program *code;
  int inputs, results;
  buffer **all; /* inputs first */
  event *done;
  error *failed;
} run;

static void *run_late(void *argument) {
  run *one = argument;
  usleep(300);
  int count = one->inputs + one->results;
  void **data = calloc((size_t)count + 1, sizeof(*data));
  for (int i = 0; i < count; ++i)
    data[i] = one->all[i]->data;
  if (!one->failed)
    program_run(one->code, data, data + one->inputs);
  for (int i = 0; i < count; ++i)
    leave_buffer(one->all[i]);
  make_ready(one->done, one->failed);
  free(data);
  free(one->all);
  free(one);
  return NULL;
}

typedef ARGUMENTS(void *callbacks[6]; void *more[6];) execute_options;
typedef ARGUMENTS(executable *of; execute_options * options;
                  buffer *const *const *inputs; size_t devices;
                  size_t input_count; buffer * *const *results; event * *done;
                  void *device;) execute_arguments;
static error *execute(execute_arguments *a) {
  static atomic_int runs;
  CHECK(a);
  CHECK(a->options);
  int number = ++runs, code = setting("FAKE_PJRT_CODE", EXHAUSTED);
  if (a->devices != 1 || a->input_count != (size_t)program_inputs(a->of->code))
    return fail(INVALID, "other inputs than the program's");
  if (number == setting("FAKE_PJRT_FAILS_CALL", 0))
    return fail(code, "the call was to fail");
  void *device = &devices[a->of->device];
  for (size_t i = 0; i < a->input_count; ++i)
    if (a->inputs[0][i]->device != device)
      return fail(INVALID, "an input is on another device");
  run *one = calloc(1, sizeof(run));
  one->code = a->of->code;
  one->inputs = (int)a->input_count;
  one->results = program_results(one->code);
  one->all =
      calloc(a->input_count + (size_t)one->results + 1, sizeof(buffer *));
  for (int i = 0; i < one->inputs; ++i)
    one->all[i] = a->inputs[0][i];
  for (int i = 0; i < one->results; ++i)
    one->all[one->inputs + i] = a->results[0][i] =
        make_buffer(*program_result(one->code, i), device);
  for (int i = 0; i < one->inputs + one->results; ++i)
    ++one->all[i]->owners;
  if (number == setting("FAKE_PJRT_FAILS_RUN", 0))
    one->failed = fail(code, "the run was to fail");
  one->done = a->done[0] = make_event();
  pthread_t thread;
  pthread_create(&thread, NULL, run_late, one);
  pthread_detach(thread);
  return NULL;
}

__attribute__((destructor)) static void report(void) {
  if (setting("FAKE_PJRT_REPORT", 0))
    fprintf(stderr,
            "fake_pjrt: %d buffers are left, %d executables\n"
            "fake_pjrt: %d copies between devices\nfake_pjrt: options%s\n",
            live_buffers, live_executables, copies, options_seen());
}

/* Places in the table are counted from Error_Destroy on. */
typedef void (*function)(void);
enum { FUNCTIONS = 73 };
static struct {
  size_t size;
  void *extensions;
  struct {
    size_t size;
    void *extensions;
    int major, minor;
  } version;
  function functions[FUNCTIONS];
} table;

__attribute__((visibility("default"))) const void *GetPjrtApi(void) {
  static const struct {
    int place;
    function entry;
  } all[] = {{0, (function)error_destroy},
             {1, (function)error_message},
             {2, (function)error_code},
             {3, (function)plugin_initialize},
             {5, (function)event_destroy},
             {8, (function)event_await},
             {10, (function)client_create},
             {11, (function)client_destroy},
             {12, (function)platform_name},
             {14, (function)platform_version},
             {16, (function)addressable_devices},
             {20, (function)compile},
             {22, (function)upload},
             {23, (function)description_id},
             {29, (function)device_description},
             {50, (function)executable_destroy},
             {55, (function)execute},
             {58, (function)buffer_destroy},
             {69, (function)copy_to_device},
             {70, (function)download},
             {72, (function)ready}};
  table.size = sizeof(table);
  table.version.size = sizeof(table.version);
  table.version.major = setting("FAKE_PJRT_MAJOR", 0);
  table.version.minor = 100;
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i)
    table.functions[all[i].place] = all[i].entry;
  return &table;
}
