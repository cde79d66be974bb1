# SPDX-License-Identifier: Apache-2.0
"""One process of a training: `training_cases.py FRAMEWORK FOLDER RANK RANKS PORT DIE_AT`, run by test_training_frameworks.py.

It trains two epochs, writes a checkpoint every CHECKPOINT_EVERY steps, and kills itself after step DIE_AT (0: never). It goes
on from the last checkpoint in FOLDER. Rank 0 appends a line "step loss" a step to FOLDER/losses.txt.
"""
from __future__ import annotations

import os
import pathlib
import signal
import sys
import warnings
from typing import Any, Optional

FRAMEWORK, FOLDER, RANK, RANKS, PORT, DIE_AT = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:])
if RANKS > 1:
    os.environ.update({"RANK": str(RANK), "LOCAL_RANK": str(RANK), "WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(PORT), "TORCHELASTIC_RUN_ID": "test"})
os.environ.update({"CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true", "HF_HUB_OFFLINE": "1"})

import torch  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import forebay as fb  # noqa: E402

EPOCHS, CHECKPOINT_EVERY = 2, 7


def data_set() -> Any:
    records = fb.tfrecord(FOLDER / "part-*.tfrecord").example({"id": fb.fixed("int64"), "x": fb.fixed("float32", [2])})
    pipe = records.shuffle(buffer=40).batch(12, remainder="drop").seed(5)
    return fb.torch.dataset(pipe, shard=(RANK, RANKS) if RANKS > 1 else None)


def batches_of(data: Any) -> Any:
    return DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork", collate_fn=fb.torch.as_it_is)


def loss_of(model: Any, batch: Any) -> Any:
    return ((model(batch["x"] / 100) - batch["id"].unsqueeze(1) / 100) ** 2).mean()


def new_model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(2, 1)


def after_step(step: int, loss: Any) -> None:
    if RANK == 0:
        with open(FOLDER / "losses.txt", "a") as log:
            log.write(f"{step} {loss.item()!r}\n")
    if step == DIE_AT:
        os.kill(os.getpid(), signal.SIGKILL)


class Place:
    """What goes into a checkpoint of Accelerate: the place after the last batch that was used."""

    def __init__(self, data: Any) -> None:
        self.data, self.batch, self.step = data, None, 0

    def state_dict(self) -> dict[str, Any]:
        return {"data": self.data.state_dict(after=self.batch), "epoch": self.batch.epoch, "step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.data.load_state_dict(state["data"])
        self.epoch, self.step = state["epoch"], state["step"]

    epoch = 0


def with_accelerate() -> None:
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == RANKS
    model = new_model()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
    place = Place(data_set())
    accelerator.register_for_checkpointing(place)
    saved = sorted(FOLDER.glob("step-*"))
    if saved:
        accelerator.load_state(str(saved[-1]))
    for _ in range(place.epoch, EPOCHS):
        for batch in batches_of(place.data):
            batch = accelerate_send(accelerator, batch)
            loss = loss_of(model, batch)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            place.batch, place.step = batch, place.step + 1
            if place.step % CHECKPOINT_EVERY == 0:
                accelerator.save_state(str(FOLDER / "unfinished"))
                accelerator.wait_for_everyone()
                if accelerator.is_main_process:
                    (FOLDER / "unfinished").rename(FOLDER / f"step-{place.step:03}")
                accelerator.wait_for_everyone()
            after_step(place.step, accelerator.gather(loss.detach().reshape(1)).mean())


def accelerate_send(accelerator: Any, batch: Any) -> Any:
    from accelerate.utils import send_to_device
    return send_to_device(batch, accelerator.device)


def with_lightning() -> None:
    import pytorch_lightning as lightning
    from pytorch_lightning.callbacks import ModelCheckpoint

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model, self.data, self.batch = new_model(), data_set(), None

        def training_step(self, batch: Any, _: int) -> Any:
            self.batch = batch
            return loss_of(self.model, batch)

        def on_train_batch_end(self, outputs: Any, _: Any, __: int) -> None:
            after_step(self.global_step, self.all_gather(outputs["loss"].detach()).mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

        def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
            checkpoint["forebay"] = self.data.state_dict(after=self.batch)

        def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
            self.data.load_state_dict(checkpoint["forebay"])

    module = Module()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=RANKS, strategy="ddp" if RANKS > 1 else "auto", logger=False,
        use_distributed_sampler=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[ModelCheckpoint(FOLDER, "{step:03d}", every_n_train_steps=CHECKPOINT_EVERY, save_top_k=-1)])
    saved = sorted(FOLDER.glob("step=*.ckpt"))
    trainer.fit(module, batches_of(module.data), ckpt_path=str(saved[-1]) if saved else None)


def with_transformers() -> None:
    import transformers

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = new_model()

        def forward(self, x: Any, id: Any) -> dict[str, Any]:
            return {"loss": loss_of(self.linear, {"x": x, "id": id})}

    class Trainer(transformers.Trainer):  # type: ignore[misc, name-defined]
        batch: Optional[Any] = None

        def get_train_dataloader(self) -> Any:
            return batches_of(self.train_dataset)

        def training_step(self, model: Any, inputs: Any, *rest: Any) -> Any:
            self.batch = inputs
            loss = super().training_step(model, inputs, *rest)
            self.loss = self.accelerator.gather(loss.detach().reshape(1)).mean()
            return loss

    data = data_set()

    class Callback(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> Any:
            if state.global_step % CHECKPOINT_EVERY == 0 and RANK == 0:
                torch.save(data.state_dict(after=trainer.batch), FOLDER / f"data-{state.global_step}.pt")
            return control

    class Losses(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        """The last callback: the checkpoint of a step is written before it may die."""

        def on_step_begin(self, arguments: Any, state: Any, control: Any, **_: Any) -> Any:
            self.report(state.global_step)
            return control

        def on_train_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> Any:
            self.report(state.global_step)
            return control

        def report(self, step: int) -> None:
            if trainer.batch is not None:
                after_step(step, trainer.loss)

    trainer = Trainer(
        Model(), transformers.TrainingArguments(
            output_dir=str(FOLDER), num_train_epochs=EPOCHS, save_steps=CHECKPOINT_EVERY, save_strategy="steps", report_to=[],
            use_cpu=True, ignore_data_skip=True, disable_tqdm=True, learning_rate=0.01, lr_scheduler_type="constant",
            optim="sgd", max_grad_norm=0.0, remove_unused_columns=False, seed=1, logging_strategy="no"),
        train_dataset=data, callbacks=[Callback(), Losses()])
    saved = sorted(FOLDER.glob("checkpoint-*/trainer_state.json"), key=lambda path: int(path.parent.name.split("-")[1]))
    if saved:
        step = saved[-1].parent.name.split("-")[1]
        data.load_state_dict(torch.load(FOLDER / f"data-{step}.pt"))
    trainer.train(resume_from_checkpoint=str(saved[-1].parent) if saved else None)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if RANKS > 1 and FRAMEWORK != "lightning":
        torch.distributed.init_process_group("gloo")
    {"accelerate": with_accelerate, "lightning": with_lightning, "transformers": with_transformers}[FRAMEWORK]()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
