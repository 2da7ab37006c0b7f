# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workloads in JAX: the same mathematics on the weights and inputs of the torch one."""

import itertools

import jax
import jax.numpy as jnp


def array(tensor):
    return jnp.array(tensor.detach().numpy())


def parameters(model):
    return {name: array(each) for name, each in model.named_parameters()}


class Program:
    """A workload with a function of its own; see workloads.workload.Workload."""

    def __init__(self, contender, work):
        self.contender, self.ops = contender, work.ops
        self.traffic, self.checked_steps = work.traffic, work.checked_steps
        self.build(work)

    def step(self):
        self.contender.pending = result = self.run()
        return result


class Function(Program):
    """A function of arrays."""

    def build(self, work):
        self.function = self.contender.jit(self.function)
        self.arguments = [array(each) for each in self.inputs(work)]

    def run(self):
        return self.function(*self.arguments)


class Pointwise(Function):
    """PointwiseChain."""

    def inputs(self, work):
        return work.x, work.y

    @staticmethod
    def function(x, y):
        z = jax.nn.gelu(x * 1.5 + 0.5, approximate=True)
        return jax.nn.relu(z * y - 0.25) + x * 0.125


class TinyOps(Function):
    """TinyOps, unrolled."""

    def inputs(self, work):
        self.times = work.ops // 6
        return work.x, work.y

    def function(self, x, y):
        for _ in range(self.times):
            x = jnp.tanh(x + y)
            x = jax.nn.relu(x * 0.5 - y)
            x = x.T
        return x


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def layer_norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    normed = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
    return normed * p[name + ".weight"] + p[name + ".bias"]


class Mlp:
    """nn.Sequential of linear layers with a relu between."""

    def read_shape(self, work):
        self.layers = range(0, len(work.model), 2)

    def forward(self, p, x):
        for layer in self.layers:
            x = linear(p, str(layer), jax.nn.relu(x) if layer else x)
        return x


class Gpt:
    """The examples' Gpt."""

    def read_shape(self, work):
        self.blocks = len(work.model.blocks)
        self.heads = work.model.blocks[0].attention.heads

    def attention(self, p, name, x):
        batch, length, _ = x.shape
        query, key, value = (
            part.reshape(batch, length, self.heads, -1)
            for part in jnp.split(linear(p, name + ".project_in", x), 3, axis=2)
        )
        mixed = jax.nn.dot_product_attention(query, key, value, is_causal=True)
        return linear(p, name + ".project_out", mixed.reshape(x.shape))

    def forward(self, p, letters):
        x = p["letters.weight"][letters] + p["positions.weight"][: letters.shape[1]]
        for number in range(self.blocks):
            name = f"blocks.{number}"
            normed = layer_norm(p, name + ".attention_norm", x)
            x = x + self.attention(p, name + ".attention", normed)
            hidden = linear(
                p, name + ".dense.0", layer_norm(p, name + ".dense_norm", x)
            )
            hidden = jax.nn.gelu(hidden, approximate=False)
            x = x + linear(p, name + ".dense.2", hidden)
        return linear(p, "head", layer_norm(p, "norm", x))


class Inference(Program):
    """The forward of a model."""

    def build(self, work):
        self.read_shape(work)
        self.model, self.inputs = parameters(work.model), array(work.inputs)
        self.function = self.contender.jit(self.forward)

    def run(self):
        return self.function(self.model, self.inputs)


def sgd(options):
    """torch.optim.SGD with momentum."""
    rate, momentum = options["lr"], options["momentum"]

    def begin(p):
        return jax.tree.map(jnp.zeros_like, p)

    def update(p, gradients, state):
        state = jax.tree.map(lambda v, g: momentum * v + g, state, gradients)
        return jax.tree.map(lambda w, v: w - rate * v, p, state), state

    return begin, update


def adamw(options):
    """torch.optim.AdamW."""
    rate, (beta1, beta2) = options["lr"], options["betas"]
    decay, epsilon = options["weight_decay"], options["eps"]

    def begin(p):
        return jnp.zeros(()), *(jax.tree.map(jnp.zeros_like, p) for _ in range(2))

    def update(p, gradients, state):
        step, mean, square = state
        step = step + 1
        mean = jax.tree.map(lambda m, g: m + (1 - beta1) * (g - m), mean, gradients)
        square = jax.tree.map(
            lambda s, g: beta2 * s + (1 - beta2) * g * g, square, gradients
        )
        size, root = rate / (1 - beta1**step), jnp.sqrt(1 - beta2**step)
        p = jax.tree.map(
            lambda w, m, s: (
                w * (1 - rate * decay) - size * m / (jnp.sqrt(s) / root + epsilon)
            ),
            p,
            mean,
            square,
        )
        return p, (step, mean, square)

    return begin, update


class Training(Program):
    """Loss, gradients and update as one function; cross entropy over the last dim."""

    optimizer = staticmethod(adamw)

    def build(self, work):
        self.read_shape(work)
        self.model = parameters(work.model)
        pairs = [next(work.batches) for _ in range(4)]
        self.batches = itertools.cycle([list(map(array, pair)) for pair in pairs])
        begin, self.update = self.optimizer(work.optimizer.param_groups[0])
        self.state = self.contender.jit(begin)(self.model)
        self.function = self.contender.jit(self.train, donate_argnums=(0, 1))

    def loss(self, p, x, y):
        scores = jax.nn.log_softmax(self.forward(p, x))
        return -jnp.take_along_axis(scores, y[..., None], axis=-1).mean()

    def train(self, p, state, x, y):
        loss, gradients = jax.value_and_grad(self.loss)(p, x, y)
        return *self.update(p, gradients, state), loss

    def run(self):
        batch = next(self.batches)
        self.model, self.state, loss = self.function(self.model, self.state, *batch)
        return loss


class MlpTrain(Mlp, Training):
    """With SGD."""

    optimizer = staticmethod(sgd)


class MlpInfer(Mlp, Inference):
    """One batch."""


class GptTrain(Gpt, Training):
    """With AdamW."""


class GptInfer(Gpt, Inference):
    """One batch."""


class TinyTrain(Mlp, Training):
    """With AdamW."""


PROGRAMS = {
    "pointwise-4m": Pointwise,
    "mlp-train": MlpTrain,
    "mlp-infer": MlpInfer,
    "gpt-train": GptTrain,
    "gpt-infer": GptInfer,
    "tiny-ops": TinyOps,
    "tiny-train": TinyTrain,
}
