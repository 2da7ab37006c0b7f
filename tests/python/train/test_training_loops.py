# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops as training frameworks have them agree with eager CPU."""

import pytest
import torch
from model_rows import BATCH, Model, move, package
from models_timm import TIMM
from models_torch_nn import TORCH_NN
from models_transformers import TRANSFORMERS
from torch import nn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("third_party")]

STEPS = 4
ACCUMULATED = 2


class Task:
    """What a user of such a framework writes: steps and hooks, no loop."""

    def __init__(self, row: Model):
        self.model, self.loss = row.make(), row.loss
        self.log = []

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 0.1, total_steps=20, cycle_momentum=False
        )
        return optimizer, schedule

    def training_step(self, batch):
        loss = self.loss(self.model, batch)
        self.log.append(loss.detach())
        return loss

    def on_before_optimizer_step(self):
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.log.append(norm)

    def on_train_batch_end(self, schedule):
        self.log.append(torch.tensor(schedule.get_last_lr()))

    def validation_step(self, batch):
        self.log.append(self.loss(self.model, batch))


class Trainer:
    """The loop around a task: devices, modes, hooks, accumulated gradients."""

    def __init__(self, device):
        self.device = device

    def fit(self, task, batches):
        task.model.to(self.device).train()
        optimizer, schedule = task.configure_optimizers()
        for number, batch in enumerate(batches, start=1):
            loss = task.training_step(move(batch, self.device))
            (loss / ACCUMULATED).backward()
            if number % ACCUMULATED:
                continue
            task.on_before_optimizer_step()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            task.on_train_batch_end(schedule)

    def validate(self, task, batch):
        task.model.eval()
        with torch.no_grad():
            task.validation_step(move(batch, self.device))


@pytest.mark.parametrize("name", ["gpt2", "timm resnet", "gru"])
def test_a_framework_loop_agrees_with_eager(name, counts):
    row = (TRANSFORMERS | TIMM | TORCH_NN)[name]

    def run(device):
        torch.manual_seed(0)
        task, trainer = Task(row), Trainer(device)
        batches = [row.batch() for _ in range(STEPS * ACCUMULATED)]
        torch.manual_seed(1)
        trainer.fit(task, batches)
        trainer.validate(task, batches[0])
        return [value.cpu() for value in task.log]

    expected = run("cpu")
    counts.restart()
    torch.testing.assert_close(run("lazy"), expected, rtol=1e-5, atol=1e-7)
    assert counts.fallbacks() == []
    # The first update, those with momentum, the validation.
    assert counts["codegen.graphs"] <= 3


def test_the_trainer_of_transformers_agrees_with_eager(monkeypatch, tmp_path, counts):
    transformers, accelerate = package("transformers"), package("accelerate")
    row = TRANSFORMERS["bert"]
    torch.manual_seed(0)
    batches = [row.batch() for _ in range(STEPS)]
    samples = [
        {name: value[i] for name, value in batch.items()}
        for batch in batches
        for i in range(BATCH)
    ]

    def run(device):
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
        monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", device)
        torch.manual_seed(1)
        model = row.make()
        arguments = transformers.TrainingArguments(
            tmp_path,
            max_steps=STEPS,
            per_device_train_batch_size=BATCH,
            logging_steps=1,
            report_to=[],
            disable_tqdm=True,
            save_strategy="steps",
            save_steps=STEPS // 2,
        )
        trainer = transformers.Trainer(model, arguments, train_dataset=samples)
        trainer.train()
        assert (tmp_path / f"checkpoint-{STEPS}" / "model.safetensors").exists()
        assert next(model.parameters()).device.type == device
        logs = [log for log in trainer.state.log_history if "loss" in log]
        return torch.tensor([(log["loss"], log["grad_norm"]) for log in logs])

    expected = run("cpu")
    assert len(expected) == STEPS
    counts.restart()
    torch.testing.assert_close(run("lazy"), expected, rtol=1e-5, atol=0)
    assert counts.fallbacks() == []
    # It asks in each step, before the update, whether the loss is finite.
    assert counts["execute.launches"] == 2 * STEPS
    # The forward and backward, the first update, and those after it.
    assert counts["codegen.graphs"] == 3
