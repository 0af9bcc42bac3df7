"""A loaded model that serves runs."""

from kvscope.model.service.loading import load_service
from kvscope.model.service.service import ModelService

__all__ = ["ModelService", "load_service"]
