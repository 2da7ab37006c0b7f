//===- serve_digits.cpp - A network behind HTTP ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   serve_digits WEIGHTS [PORT [THREADS [DEVICE]]]
//
// Serves the CNN whose weights train_digits wrote, from several threads. POST
// images of 64 bytes, one after the other, to /digits: a line comes back for
// each, with the scores of the ten digits. GET /metrics says what the device
// has done. SIGTERM ends it once what has been asked is answered.
//
//===----------------------------------------------------------------------===//
#include "digits.h"

#include <ltc/ltc.h>

#include <httplib.h>

#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

namespace {

constexpr int64_t kImageBytes = 64, kMostImages = 256;

/// Any thread.
class Network {
public:
  Network(const char *weights, torch::Device device) : device(device) {
    if (device.is_lazy()) {
      // Compiles at once, and not when it is worth it: nobody waits yet.
      ltc::initialize({{"tiers", "off"}});
      ltc::to(*model, device);
      ltc::load(model, weights);
    } else {
      torch::load(model, weights);
    }
    model->eval();
    // Whoever asks first need not wait for a compile: one image, and as many
    // as somebody likes.
    for (int64_t images : {1, 2, 3})
      score(std::string(images * kImageBytes, 0));
  }

  /// A row of scores for each image.
  torch::Tensor score(std::string bytes) {
    torch::NoGradGuard noGrad;
    torch::Tensor images =
        torch::from_blob(bytes.data(), {int64_t(bytes.size())}, torch::kUInt8);
    torch::Tensor scores =
        model->forward(toImages(images, torch::kFloat).to(device));
    return scores.cpu();
  }

private:
  torch::nn::Sequential model = makeCnn();
  torch::Device device;
};

std::string textOf(const torch::Tensor &scores) {
  std::ostringstream text;
  text.precision(9);
  auto values = scores.accessor<float, 2>();
  for (int64_t row = 0; row < values.size(0); ++row)
    for (int64_t column = 0; column < values.size(1); ++column)
      text << values[row][column] << (column + 1 < values.size(1) ? ' ' : '\n');
  return text.str();
}

void refuse(httplib::Response &response, int status, const std::string &why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain");
}

void answer(Network &network, const httplib::Request &request,
            httplib::Response &response) {
  auto size = int64_t(request.body.size());
  if (size == 0 || size % kImageBytes || size > kMostImages * kImageBytes)
    return refuse(response, 400,
                  "found " + std::to_string(size) +
                      " bytes, and wanted 1 to 256 images of 64 bytes");
  try {
    response.set_content(textOf(network.score(request.body)), "text/plain");
  } catch (const c10::Error &error) {
    refuse(response, 500, error.what_without_backtrace());
  }
}

void serve(httplib::Server &server, Network &network, int threads) {
  server.new_task_queue = [threads] {
    return new httplib::ThreadPool(size_t(threads));
  };
  server.set_payload_max_length(size_t(kMostImages * kImageBytes));
  server.set_keep_alive_timeout(1); // and so long an end may take
  server.set_tcp_nodelay(true);     // an answer waits for no more to send
  server.Post("/digits", [&](const auto &request, auto &response) {
    answer(network, request, response);
  });
  server.Get("/metrics", [](const auto &, auto &response) {
    std::string text;
    for (const auto &[name, count] : ltc::metrics())
      text += name + " " + std::to_string(count) + "\n";
    response.set_content(text, "text/plain");
  });
}

} // namespace

int main(int count, char **arguments) try {
  TORCH_CHECK(count > 1, "usage: serve_digits WEIGHTS [PORT [THREADS "
                         "[DEVICE]]]");
  int port = count > 2 ? atoi(arguments[2]) : 8080;
  int threads = count > 3 ? atoi(arguments[3]) : 4;
  torch::Device device(count > 4 ? arguments[4] : "lazy");
  // Before there are threads, which all leave these signals to this one.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Network network(arguments[1], device);
  httplib::Server server;
  serve(server, network, threads);
  const char *host = "127.0.0.1";
  port = port ? (server.bind_to_port(host, port) ? port : -1)
              : server.bind_to_any_port(host);
  TORCH_CHECK(port > 0, "serve_digits cannot listen at port ", arguments[2]);
  std::thread listening([&] { server.listen_after_bind(); });
  std::printf("serve_digits: listening at http://%s:%d\n", host, port);
  std::fflush(stdout);

  int signal = 0;
  sigwait(&signals, &signal);
  server.stop();
  listening.join();
  if (device.is_lazy())
    ltc::synchronize();
  std::printf("serve_digits: ended\n");
} catch (const c10::Error &error) {
  std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  return 1;
}
